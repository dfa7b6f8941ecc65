package upstream

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// status returns a field of INFO.
func (u *Upstream) status(name string) string {
	for _, f := range u.Status() {
		if f.Name == "upstream_"+name {
			return f.Value
		}
	}
	return ""
}

func TestNoReachableSeed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	l.Close()
	u := open(t, "redis://"+addr, func(o *Options) { o.Timeout = 100 * time.Millisecond })
	reply := u.do("GET k")[0]
	require.True(t, strings.HasPrefix(reply, "-UPSTREAM no node can be reached: "+addr), reply)
	require.Contains(t, reply, "connection refused")
	require.Equal(t, "unreachable", u.status("state"))
	require.Contains(t, u.status("error"), "connection refused")
}

// Upstreams that answer with something else than they should.
func TestBadUpstreams(t *testing.T) {
	noFunction := func(script string) func([]string) string {
		return func(args []string) string {
			switch strings.ToLower(args[0]) {
			case "function", "fcall":
				return "-ERR unknown command '" + args[0] + "', with args beginning with: \r\n"
			case "info":
				return "$21\r\nredis_version:5.0.3\r\n\r\n"
			case "script":
				return script
			}
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
	}
	for _, row := range []struct {
		name, line string
		answer     func(args []string) string
		want       string // of the reply
	}{
		{"an error", "GET k", constant("-WRONGTYPE no\r\n"), "-WRONGTYPE no\r\n"},
		{"HTTP", "GET k", constant("HTTP/1.1 400 Bad Request\r\n\r\n"), "-UPSTREAM $ADDR: "},
		{"an unknown type", "SET k v", constant("?3\r\n"), "the command may have run\r\n"},
		{"a length that is none", "GET k", constant("$abc\r\n"), "-UPSTREAM $ADDR: "},
		{"a length beyond memory", "GET k", constant("$9223372036854775800\r\n"), "-UPSTREAM $ADDR: "},
		{"half a reply", "GET k", constant("*2\r\n$1\r\na\r\n"), "-UPSTREAM $ADDR: "},
		{
			"CLUSTERDOWN", "GET k", constant("-CLUSTERDOWN The cluster is down\r\n"),
			"-CLUSTERDOWN The cluster is down\r\n",
		},
		{
			"loading for ever", "GET k", constant("-LOADING Redis is loading the dataset in memory\r\n"),
			"-LOADING ",
		},
		{
			"MOVED to nowhere", "GET k", constant("-MOVED\r\n"),
			"-UPSTREAM $ADDR: redirection without end: MOVED\r\n",
		},
		{
			"a function that answers a text", "RL.ALLOW k 1 1s", constant("+OK\r\n"),
			"answered something else than it does",
		},
		{
			"no FUNCTION in Redis 5", "RL.ALLOW k 1 1s", noFunction("+x\r\n"),
			"version 5.0.3 of the engine is too old, 6.2 is the first",
		},
		{
			"no permission", "RL.ALLOW k 1 1s",
			constant("-NOPERM this user has no permissions to run the 'fcall' command\r\n"),
			"the library of functions cannot be loaded: NOPERM",
		},
		{
			"a library that does not load", "RL.ALLOW k 1 1s", func(args []string) string {
				if args[0] == "FUNCTION" {
					return "-ERR Error compiling function\r\n"
				}
				return "-ERR Function not found\r\n"
			}, "the library of functions cannot be loaded: ERR Error compiling function",
		},
	} {
		inBubble(t, row.name, func(t *testing.T) {
			f := newPiped(t, row.answer)
			u := open(t, "redis+single://"+f.addr, func(o *Options) { o.Timeout = 150 * time.Millisecond })
			reply := u.do(row.line)[0]
			require.Contains(t, reply, strings.ReplaceAll(row.want, "$ADDR", f.addr))
			require.True(t, strings.HasSuffix(reply, "\r\n"))
		})
	}
}

// An upstream without FUNCTION decides by a script.
func TestScriptsInsteadOfFunctions(t *testing.T) {
	loaded := make(chan string, 1)
	f := newFake(t, func(args []string) string {
		switch strings.ToLower(args[0]) {
		case "function", "fcall":
			return "-ERR unknown command '" + args[0] + "', with args beginning with: \r\n"
		case "info":
			return "$21\r\nredis_version:6.2.6\r\n\r\n"
		case "script":
			loaded <- args[2]
			return "+sha\r\n"
		}
		return "*5\r\n:1\r\n:2\r\n:1\r\n:0\r\n:1000\r\n"
	})
	u := open(t, "redis+single://"+f.addr, nil)
	u.do("RL.ALLOW k 2 1s")
	require.Equal(t, ratelimit.Script(), <-loaded)
	last := f.asked()
	require.Contains(t, last[len(last)-1], "EVALSHA "+ratelimit.ScriptSHA)
	require.Contains(t, u.status("node0"), "decides_by=scripts")
}

func TestWrongPassword(t *testing.T) {
	f := newFake(t, constant("-WRONGPASS invalid username-password pair or user is disabled.\r\n"))
	u := open(t, "redis://bob:no@"+f.addr, nil)
	reply := u.do("GET k")[0]
	require.Contains(t, reply, "WRONGPASS")
}

// The upstream's certificate is of another authority, has expired, or is of another host.
func TestBadCertificates(t *testing.T) {
	ca, err := testca.New("ca")
	require.NoError(t, err)
	other, err := testca.New("other")
	require.NoError(t, err)
	for want, issue := range map[string]func() (testca.Pair, error){
		"expired": func() (testca.Pair, error) {
			return ca.Issue(testca.Leaf{Name: "localhost", NotAfter: time.Now().Add(-time.Hour)})
		},
		"unknown authority": func() (testca.Pair,
			error,
		) {
			return other.Issue(testca.Leaf{Name: "localhost"})
		},
	} {
		pair, err := issue()
		require.NoError(t, err)
		cert, err := pair.TLS()
		require.NoError(t, err)
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
		require.NoError(t, err)
		go func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					_ = nc.(*tls.Conn).Handshake()
					nc.Close()
				}()
			}
		}()
		u := open(t, "rediss://"+l.Addr().String(), func(o *Options) {
			o.Timeout = 500 * time.Millisecond
			o.TLS = &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}
		})
		require.Contains(t, u.do("GET k")[0], want)
		l.Close()
	}
}
