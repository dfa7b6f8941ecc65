package zlimittest_test

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/testca"
	"github.com/zlimit/zlimit/zlimittest"
)

var three = zlimit.Quota{Limit: 3, Window: time.Minute}

// TestCluster checks that a limiter that breaks on a cluster breaks here, and that clients are told where
// the server is.
func TestCluster(t *testing.T) {
	t.Parallel()
	srv := zlimittest.RunWith(t, zlimittest.Options{Cluster: true, Frozen: true})
	c := dial(t, srv)
	const crossSlot = "-CROSSSLOT Keys in request don't hash to the same slot"
	script := `EVAL "return redis.call('incr', KEYS[1]) + redis.call('incr', KEYS[2])" 2 `
	require.Equal(t, crossSlot, c.ask(script+"user:minute user:day"))
	require.Equal(t, ":2", c.ask(script+"{user}:minute {user}:day"))
	node := func(c *client) string { return strings.Join(strings.Fields(c.ask("CLUSTER SLOTS"))[:4], " ") }
	require.Equal(t, ":0 :16383 127.0.0.1 :0", node(c))
	_, port, _ := net.SplitHostPort(srv.Addr())
	require.Equal(t, ":0 :16383 127.0.0.1 :"+port, node(c))

	require.Equal(t, ":1 :3 :2 :0 :60000", c.ask("RL.ALLOW user:42 3 1m"))
	srv.Advance(time.Minute)
	require.Equal(t, ":1 :3 :2 :0 :60000", c.ask("RL.ALLOW user:42 3 1m"))
	require.NoError(t, srv.Close())
	again := zlimittest.RunWith(t, zlimittest.Options{After: srv})
	c = dial(t, again)
	require.Equal(t, crossSlot, c.ask(script+"user:minute user:day"))
	_, port, _ = net.SplitHostPort(again.Addr())
	require.Equal(t, ":0 :16383 127.0.0.1 :"+port, node(c))
}

// TestPortAfter checks that a server says its own port, and not that of the server whose keys it has.
func TestPortAfter(t *testing.T) {
	t.Parallel()
	srv := zlimittest.RunT(t)
	for range 2 {
		require.Contains(t, srv.Do("INFO", "server"), "tcp_port:0\r\n")
		_, port, err := net.SplitHostPort(srv.Addr())
		require.NoError(t, err)
		require.Contains(t, srv.Do("INFO", "server"), "tcp_port:"+port+"\r\n")
		require.NoError(t, srv.Close())
		srv = zlimittest.RunWith(t, zlimittest.Options{After: srv})
	}
}

// TestOneClock checks that expiry, TIME and limits follow the same clock.
func TestOneClock(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_700_000_000_123)
	srv := zlimittest.RunWith(t, zlimittest.Options{Now: begin, Frozen: true})
	c := dial(t, srv)
	require.Equal(t, begin, srv.Now())
	require.Equal(t, "1700000000 123000", c.ask("TIME"))
	require.Equal(t, "+OK", c.ask("SET session x PX 60000"))
	require.Equal(t, ":3 :3 :0 :0 :60000", c.ask("RL.ALLOW user:42 3 1m COST 3"))
	require.Equal(t, "1700000000123",
		c.ask(`EVAL "local t = redis.call('time') return t[1]..string.sub(t[2],1,3)" 0`))

	srv.Advance(59_999 * time.Millisecond)
	require.Equal(t, ":0 :3 :0 :1 :1", c.ask("RL.ALLOW user:42 3 1m"))
	require.Equal(t, ":1", c.ask("PTTL session"))
	srv.Advance(time.Millisecond)
	require.Equal(t, ":1 :3 :2 :0 :60000", c.ask("RL.ALLOW user:42 3 1m"))
	srv.Key("session").RequireTTL(0) // Redis keeps a key through its last millisecond
	srv.Advance(time.Millisecond)
	require.Equal(t, ":1", c.ask("DBSIZE"))
	require.Equal(t, []string{"user:42"}, srv.Keys())

	srv.Set(begin.Add(time.Hour))
	require.Equal(t, begin.Add(time.Hour), srv.Now())
	require.Equal(t, ":0", c.ask("DBSIZE"))
	srv.Resume()
	srv.Freeze()
	require.False(t, srv.Now().Before(begin.Add(time.Hour)))
}

// TestTLS checks that the TCP address speaks TLS if the options say so, with and without
// a client's certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority, err := testca.New("authority")
	require.NoError(t, err)
	pair, err := authority.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	certificate, err := pair.TLS()
	require.NoError(t, err)
	served := &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(),
	}
	srv := zlimittest.RunWith(t, zlimittest.Options{TLS: served})
	ping := func(own ...tls.Certificate) (string, error) {
		nc, err := tls.Dial("tcp", srv.Addr(), &tls.Config{
			RootCAs: authority.Pool(), ServerName: "localhost", Certificates: own,
		})
		if err != nil {
			return "", err
		}
		defer nc.Close()
		if _, err := nc.Write([]byte("PING\r\n")); err != nil {
			return "", err
		}
		reply := make([]byte, len("+PONG\r\n"))
		_, err = io.ReadFull(nc, reply)
		return string(reply), err
	}
	reply, err := ping(certificate)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", reply)
	_, err = ping()
	require.ErrorContains(t, err, "certificate required")

	require.Equal(t, "+PONG", dial(t, srv).ask("PING"), "in memory there is no TLS")
	require.NoError(t, srv.Close())
	again := zlimittest.RunWith(t, zlimittest.Options{After: srv})
	srv = again
	reply, err = ping(certificate)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", reply)
}

// TestClockRange checks that instants outside of the clock's range are refused with a
// message.
func TestClockRange(t *testing.T) {
	t.Parallel()
	late := time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{late, time.Unix(-1, 0)} {
		_, err := zlimittest.Start(zlimittest.Options{Now: now})
		require.ErrorIs(t, err, clock.ErrRange)
		require.ErrorContains(t, err, now.String())
	}
	fake := &fakeTest{TB: t}
	srv := zlimittest.RunWith(fake, zlimittest.Options{Now: time.UnixMilli(1_700_000_000_000), Frozen: true})
	defer func() { fake.cleanups[0]() }()
	require.Contains(t, fake.ending(func() { srv.Advance(1<<63 - 1 - (1<<63-1)%time.Millisecond) }),
		"milliseconds must be from 0 to what is left until 9223372036854")
	for _, now := range []time.Time{late, time.Unix(0, 0), {}} {
		require.Contains(t, fake.ending(func() { srv.Set(now) }),
			"unix-time-milliseconds must be from 100000000000 to 9223372036854")
	}
	require.Equal(t, int64(1_700_000_000_000), srv.Now().UnixMilli())
}

// TestBubble checks that in testing/synctest the server uses the bubble's clock and
// leaves no goroutine, which the bubble would report.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zlimittest.RunT(t)
		c := dial(t, srv)
		require.Equal(t, time.Now().UnixMicro(), srv.Now().UnixMicro())
		require.Equal(t, ":1 :1 :0 :0 :3600000", c.ask("RL.ALLOW user:42 1 1h"))
		time.Sleep(time.Hour - time.Millisecond) //nolint:forbidigo // the bubble's clock
		require.Equal(t, ":0 :1 :0 :1 :1", c.ask("RL.ALLOW user:42 1 1h"))
		time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's clock
		require.Equal(t, ":1 :1 :0 :0 :3600000", c.ask("RL.ALLOW user:42 1 1h"))
		require.Equal(t, "+OK", c.ask("SET k v EX 10"))
		time.Sleep(11 * time.Second) //nolint:forbidigo // the bubble's clock
		require.Equal(t, ":1", c.ask("DBSIZE"))
		require.Equal(t, "*-1", c.ask("BLPOP queue 3600")) // nothing is pushed: an hour of the bubble's clock
	})
}

// TestAddr checks that TCP is available once requested and closed with the server.
func TestAddr(t *testing.T) {
	t.Parallel()
	srv, err := zlimittest.Start(zlimittest.Options{})
	require.NoError(t, err)
	addr := srv.Addr()
	require.Equal(t, addr, srv.Addr())
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	c := &client{t, conn, nil}
	c.in = newReader(conn)
	require.Equal(t, "+PONG", c.ask("PING"))
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close())
	require.Equal(t, "gone", c.reply())
	conn.Close()
	require.PanicsWithValue(t, "zlimittest: the server is closed: use of closed network connection",
		func() { closed(t).Addr() })
	_, err = zlimittest.Start(zlimittest.Options{Directives: []string{"--nosuch", "1"}})
	require.Error(t, err)
}

func closed(t *testing.T) *zlimittest.Server {
	t.Helper()
	srv, err := zlimittest.Start(zlimittest.Options{})
	require.NoError(t, err)
	require.NoError(t, srv.Close())
	return srv
}

// TestServersAreIsolated checks that servers of parallel tests share neither keys nor clock.
func TestServersAreIsolated(t *testing.T) {
	for range 20 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
			c := dial(t, srv)
			require.Equal(t, ":1 :1 :0 :0 :1000", c.ask("RL.ALLOW k 1 1s"))
			srv.Advance(time.Second)
			require.Equal(t, ":1 :1 :0 :0 :1000", c.ask("RL.ALLOW k 1 1s"))
			require.False(t, srv.Allow("k", zlimit.Quota{Limit: 1, Window: time.Second}, 1).OK())
		})
	}
}

// TestKeyHelpers checks what they report and how failed expectations end a test.
func TestKeyHelpers(t *testing.T) {
	t.Parallel()
	fake := &fakeTest{TB: t}
	srv := zlimittest.RunWith(fake, zlimittest.Options{Frozen: true})
	defer func() { fake.cleanups[0]() }()
	srv.Allow("user:42", three, 2)
	srv.Do("SET", "note", "hello")

	user, note, none := srv.Key("user:42"), srv.Key("note"), srv.Key("nosuch")
	require.Equal(t, []any{true, "zset", int64(2), time.Minute},
		[]any{user.Exists(), user.Type(), user.Units(), user.TTL()})
	require.Equal(t, []any{true, "string", "hello", zlimittest.NoExpiry},
		[]any{note.Exists(), note.Type(), note.Value(), note.TTL()})
	require.Equal(t, []any{false, "none", "", zlimittest.Absent},
		[]any{none.Exists(), none.Type(), none.Value(), none.TTL()})
	require.Equal(t, []string{"note", "user:42"}, srv.Keys())

	for _, c := range []struct {
		name string
		fn   func()
		want string
	}{
		{"units", func() { user.RequireUnits(2) }, ""},
		{"other units", func() { user.RequireUnits(3) }, `zlimittest: key "user:42" holds 2 units, not 3`},
		{"ttl", func() { user.RequireTTL(time.Minute) }, ""},
		{
			"other ttl", func() { user.RequireTTL(time.Second) },
			`zlimittest: key "user:42" lives for 1m0s, not 1s`,
		},
		{
			"no ttl", func() { none.RequireTTL(zlimittest.NoExpiry) },
			`zlimittest: key "nosuch" lives for no time (it is not there), not ever`,
		},
		{"value", func() { note.RequireValue("hello") }, ""},
		{"other value", func() { note.RequireValue("bye") }, `zlimittest: key "note" is "hello", not "bye"`},
		{"absent", func() { none.RequireAbsent() }, ""},
		{"not absent", func() { note.RequireAbsent() }, `zlimittest: key "note" is there: a string`},
		{
			"wrong type", func() { note.Units() },
			"zlimittest: [ZCARD note]: WRONGTYPE Operation against a key holding the wrong kind of value",
		},
		{
			"command", func() { srv.Do("NOSUCH") },
			"zlimittest: [NOSUCH]: ERR unknown command 'NOSUCH', with args beginning with: ",
		},
		{
			"allow", func() { srv.Allow("k", zlimit.Quota{Limit: -1, Window: time.Second}, 1) },
			"zlimittest: RL.ALLOW k: ERR limit must not be negative",
		},
		{
			"back", func() { srv.Advance(-time.Second) },
			"zlimittest: Advance(-1s): not a whole number of milliseconds, or back",
		},
		{
			"too fine", func() { srv.Advance(time.Microsecond) },
			"zlimittest: Advance(1µs): not a whole number of milliseconds, or back",
		},
		{"set back", func() { srv.Set(srv.Now().Add(-time.Hour)) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fake.ending(c.fn)
			if c.name == "set back" {
				require.Contains(t, got, "moves the clock back only on an empty keyspace")
				return
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestStartIsCheap bounds the cost of a server. It counts instead of timing.
func TestStartIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("counts allocations, which other tests at the same time would disturb")
	}
	n := testing.AllocsPerRun(5, func() {
		srv, err := zlimittest.Start(zlimittest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations from start to close", n)
	require.Less(t, n, 3000.0)
}
