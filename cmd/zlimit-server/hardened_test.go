//go:build unix

package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

const hardenedFile = "../../docs/hardened.conf"

// A hardened server runs with docs/hardened.conf. Its users have their names as passwords.
type hardened struct {
	*process
	ca     *testca.Authority
	client tls.Certificate
}

// startHardened starts a server with the file. What must differ are paths, passwords and
// ports.
func startHardened(t *testing.T, passwords bool) *hardened {
	t.Helper()
	text, err := os.ReadFile(hardenedFile)
	require.NoError(t, err)
	dir := t.TempDir()
	config := strings.ReplaceAll(string(text), "/var/lib/zlimit/", dir+"/")
	for _, user := range []string{"limiter", "operator", "metrics"} {
		plain := "\nuser " + user + " on "
		require.Contains(t, config, plain)
		if passwords {
			config = strings.Replace(config, plain,
				fmt.Sprintf("%s#%x ", plain, sha256.Sum256([]byte(user))), 1)
		}
	}
	file := filepath.Join(dir, "hardened.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))

	h := &hardened{}
	h.ca, err = testca.New("ca")
	require.NoError(t, err)
	_, err = h.ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	server, err := h.ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	_, _, err = server.Write(dir, "server")
	require.NoError(t, err)
	h.client = issue(t, h.ca, testca.Leaf{Name: "client"})
	h.process = startAsync(t, file, "--tls-port", freePort(t), "--metrics-addr", "127.0.0.1:0")
	line, err := h.stdout.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "The user 'default' is disabled")
	h.readGreeting(t, h.stdout)
	return h
}

func issue(t *testing.T, ca *testca.Authority, leaf testca.Leaf) tls.Certificate {
	t.Helper()
	pair, err := ca.Issue(leaf)
	require.NoError(t, err)
	c, err := pair.TLS()
	require.NoError(t, err)
	return c
}

// config returns the configuration of a client with certificates.
func (h *hardened) config(own ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: h.ca.Pool(), ServerName: "localhost", Certificates: own}
}

// A secureClient is a connection over TLS.
type secureClient struct {
	net.Conn
	r *bufio.Reader
}

// dial connects as a user, or as none if the name is empty.
func (h *hardened) dial(t *testing.T, user string) *secureClient {
	t.Helper()
	nc, err := tls.Dial("tcp", h.addr, h.config(h.client))
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	c := &secureClient{nc, bufio.NewReader(nc)}
	if user != "" {
		require.Equal(t, "+OK", c.call(t, "AUTH "+user+" "+user))
	}
	return c
}

// call sends a line and returns the first line of the reply.
func (c *secureClient) call(t *testing.T, line string) string {
	t.Helper()
	_, err := fmt.Fprintf(c, "%s\r\n", line)
	require.NoError(t, err)
	reply, err := c.r.ReadString('\n')
	require.NoError(t, err, line)
	return strings.TrimSpace(reply)
}

// TestHardenedRefusesStrangers checks that a client without a certificate of the
// authority gets no reply, and one without a password only errors.
func TestHardenedRefusesStrangers(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	other, err := testca.New("other")
	require.NoError(t, err)
	expired := issue(t, h.ca, testca.Leaf{Name: "client", NotAfter: time.Now().Add(-time.Hour)})
	old := h.config(h.client)
	old.MaxVersion = tls.VersionTLS12
	for name, config := range map[string]*tls.Config{
		"no certificate":    h.config(),
		"another authority": h.config(issue(t, other, testca.Leaf{Name: "client"})),
		"an expired one":    h.config(expired),
		"TLSv1.2":           old,
		"no TLS":            nil,
	} {
		nc, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
		if config != nil {
			nc = tls.Client(nc, config)
		}
		_, _ = nc.Write([]byte("PING\r\n")) // it may fail already
		reply, _ := bufio.NewReader(nc).ReadString('\n')
		require.NotContains(t, reply, "PONG", name)
		require.NotContains(t, reply, "NOAUTH", name)
		nc.Close()
	}
	c := h.dial(t, "")
	for _, line := range []string{
		"PING", "INFO", "RL.ALLOW rl:a 1 1000", "ACL LIST", "CONFIG GET *", "DEBUG CLOCK FREEZE",
	} {
		require.Regexp(t, "^-(NOAUTH|ERR DEBUG command not allowed)", c.call(t, line), line)
	}
	const wrong = "-WRONGPASS invalid username-password pair or user is disabled."
	require.Equal(t, wrong, c.call(t, `AUTH ""`))
	require.Equal(t, wrong, c.call(t, `AUTH default ""`))
	require.Equal(t, wrong, c.call(t, "AUTH limiter operator"))
	require.Equal(t, "-ERR Protocol error: unauthenticated multibulk length", c.call(t, "*100"))
}

// TestHardenedHasNoPasswords checks that nobody can log in with the file as it is
// distributed.
func TestHardenedHasNoPasswords(t *testing.T) {
	t.Parallel()
	c := startHardened(t, false).dial(t, "")
	for _, user := range []string{"default", "limiter", "operator", "metrics"} {
		require.Regexp(t, "^-WRONGPASS", c.call(t, "AUTH "+user+` ""`), user)
		require.Regexp(t, "^-WRONGPASS", c.call(t, "AUTH "+user+" "+user), user)
	}
}

// TestHardenedUsers: each user may do what the file says and nothing else.
func TestHardenedUsers(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	limiter, operator, exporter := h.dial(t, "limiter"), h.dial(t, "operator"), h.dial(t, "metrics")
	noPermission := func(c *secureClient, lines ...string) {
		for _, line := range lines {
			require.Regexp(t, "^-NOPERM ", c.call(t, line), line)
		}
	}
	require.Equal(t, "*5", limiter.call(t, "RL.ALLOW rl:user:1 2 60000"))
	for range 5 {
		_, err := limiter.r.ReadString('\n')
		require.NoError(t, err)
	}
	require.Equal(t, ":0", limiter.call(t, "RL.CANCEL rl:user:1 no"))
	require.Equal(t, "+PONG", limiter.call(t, "PING"))
	require.Equal(t, "+OK", limiter.call(t, "CLIENT SETNAME api"))
	noPermission(limiter, "RL.ALLOW other:1 2 60000", "RL.MALLOW 2 rl:a 1 1000 other:1 1 1000",
		"RL.RESET rl:user:1", "GET rl:user:1", "SET rl:user:1 x", "DEL rl:user:1", "KEYS *", "SCAN 0",
		"FLUSHALL", "EVAL return(1) 0", "FUNCTION LIST", "SUBSCRIBE a", "PUBLISH a b", "MONITOR",
		"CONFIG GET *", "INFO", "CLIENT LIST",
		"CLIENT KILL TYPE normal", "CLIENT PAUSE 1000", "ACL WHOAMI", "ACL LIST", "SHUTDOWN", "SAVE", "MULTI")
	require.Regexp(t, `^\$\d+`, exporter.call(t, "INFO everything"))
	noPermission(h.dial(t, "metrics"), "RL.ALLOW rl:user:1 2 60000", "GET rl:user:1", "CONFIG GET *",
		"ACL LIST")

	require.Equal(t, "*4", operator.call(t, "ACL LIST"))
	operator = h.dial(t, "operator")
	require.Equal(t, ":1", operator.call(t, "RL.RESET rl:user:1"))
	for _, row := range [][2]string{
		{"dir /tmp", "protected"},
		{"dbfilename x.rdb", "protected"},
		{"enable-protected-configs yes", "immutable"},
		{"enable-debug-command yes", "immutable"},
	} {
		require.Regexp(t, "can't set "+row[1]+" config$", operator.call(t, "CONFIG SET "+row[0]))
	}
	require.Regexp(t, "^-ERR DEBUG command not allowed", operator.call(t, "DEBUG CLOCK FREEZE"))
	require.Regexp(t, "^-BUSY|^-ERR", operator.call(t, `EVAL "return string.rep('x', 100000000)" 0`))
}

// TestHardenedBounds: what one client can send, and how many can connect.
func TestHardenedBounds(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	c := h.dial(t, "operator")
	require.Equal(t, "-ERR Protocol error: invalid bulk length", c.call(t, "*2\r\n$1048577"))
	c = h.dial(t, "operator")
	for _, row := range [][2]string{
		{"port", "0"},
		{"maxclients", "1000"},
		{"timeout", "300"},
		{"client-query-buffer-limit", "2097152"},
		{
			"client-output-buffer-limit",
			"normal 16777216 4194304 10 slave 268435456 67108864 60 pubsub 16777216 4194304 10",
		},
		{"maxmemory", "268435456"},
		{"maxmemory-policy", "limiter-aware"},
		{"maxmemory-clients", "20%"},
		{"failed-logins-per-second", "1"},
		{"tls-auth-clients", "yes"},
		{"protected-mode", "yes"},
	} {
		require.Equal(t, "*2", c.call(t, "CONFIG GET "+row[0]))
		for range 3 {
			_, err := c.r.ReadString('\n')
			require.NoError(t, err)
		}
		value, err := c.r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, row[1], strings.TrimSpace(value), row[0])
	}
}

// TestHardenedMemory checks that with full memory a limiter goes on answering, and that
// keys over their limit stay so.
func TestHardenedMemory(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	limiter, operator := h.dial(t, "limiter"), h.dial(t, "operator")
	const flood = "EVAL \"for i=1,20000 do redis.call('RL.ALLOW','rl:flood:'..i,10,'1h') end return 1\" 0"
	allow := func(key string) (granted string) {
		require.Equal(t, "*5", limiter.call(t, "RL.ALLOW "+key+" 1 1h"))
		for i := range 5 {
			line, err := limiter.r.ReadString('\n')
			require.NoError(t, err)
			if i == 0 {
				granted = strings.TrimSpace(line)
			}
		}
		return granted
	}
	require.Equal(t, ":1", allow("rl:attacker"))
	require.Equal(t, ":0", allow("rl:attacker"))
	require.Equal(t, ":1", operator.call(t, flood))
	require.Equal(t, ":20001", operator.call(t, "DBSIZE"))
	require.Equal(t, "+OK", operator.call(t, "CONFIG SET maxmemory 2mb"))
	for range 5 {
		require.Equal(t, ":1", operator.call(t, flood))
	}
	require.Equal(t, ":1", allow("rl:new"))
	require.NotEqual(t, ":20002", operator.call(t, "DBSIZE"), "some are evicted")
	require.Equal(t, ":0", allow("rl:attacker"))
}

// TestHardenedSlowsGuessers: of many attempts at once some are refused without a look at
// the password, even if it is right.
func TestHardenedSlowsGuessers(t *testing.T) {
	t.Parallel()
	h := startHardened(t, true)
	replies := make(chan string)
	for range 30 {
		c := h.dial(t, "")
		go func() {
			_, _ = c.Write([]byte("AUTH operator guess\r\n"))
			reply, _ := c.r.ReadString('\n')
			select {
			case replies <- reply:
			case <-t.Context().Done():
			}
		}()
	}
	for !strings.Contains(<-replies, "-ERR too many logins from this address have failed") {
	}
	require.Regexp(t, "^-ERR too many logins", h.dial(t, "").call(t, "AUTH operator operator"))
}
