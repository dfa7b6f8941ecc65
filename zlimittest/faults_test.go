package zlimittest_test

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest"
)

const (
	loading  = "-LOADING Redis is loading the dataset in memory"
	oom      = "-OOM command not allowed when used memory > 'maxmemory'."
	readonly = "-READONLY You can't write against a read only replica."
	noscript = "-NOSCRIPT No matching script. Please use EVAL."
	allowed  = ":1 :3 :2 :0 :60000"
	second   = ":1 :3 :1 :0 :60000"
	script   = "EVAL return(1) 0"
)

// step is a command and the client's reply.
type step struct{ ask, reply string }

// TestFaults covers every kind: what the client sees and what the server has done.
func TestFaults(t *testing.T) {
	hit := step{"RL.ALLOW user:42 3 1m", allowed}
	for _, c := range []struct {
		name  string
		fault zlimittest.Fault
		steps []step
		units int64 // units of user:42 afterwards
		hits  int
	}{
		{"none", zlimittest.Fault{}, []step{hit}, 1, 1},
		{"close", zlimittest.Fault{Kind: zlimittest.Close}, []step{{hit.ask, "gone"}, {"", "gone"}}, 0, 1},
		{"drop the reply", zlimittest.Fault{Kind: zlimittest.DropReply}, []step{{hit.ask, "gone"}}, 1, 1},
		{"loading", zlimittest.Fault{Kind: zlimittest.Loading}, []step{{hit.ask, loading}, hit}, 1, 1},
		{
			"loading is not about INFO",
			zlimittest.Fault{Kind: zlimittest.Loading},
			[]step{{"CLIENT ID", ":1"}, {hit.ask, loading}},
			0, 1,
		},
		{
			"full",
			zlimittest.Fault{Kind: zlimittest.OutOfMemory},
			[]step{{"ZCARD user:42", ":0"}, {hit.ask, oom}, hit},
			1, 1,
		},
		{
			"full, for a script",
			zlimittest.Fault{Kind: zlimittest.OutOfMemory},
			[]step{{script, oom}, {script, ":1"}},
			0, 1,
		},
		{
			"replica",
			zlimittest.Fault{Kind: zlimittest.ReadOnly, Times: 2},
			[]step{{hit.ask, readonly}, {"GET k", "nil"}, {"DEL k", readonly}, hit},
			1, 2,
		},
		{
			"script gone",
			zlimittest.Fault{Kind: zlimittest.NoScript},
			[]step{{script, ":1"}, {"EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", noscript}},
			0, 1,
		},
		{
			"any text",
			zlimittest.Fault{Kind: zlimittest.Refuse, Text: "ERR it broke", Times: zlimittest.Always},
			[]step{{hit.ask, "-ERR it broke"}, {"PING", "-ERR it broke"}, {"CLIENT ID", ":1"}},
			0, 2,
		},
		{
			"one command",
			zlimittest.Fault{Kind: zlimittest.Refuse, Text: "ERR it broke", On: "PING"},
			[]step{hit, {"ping", "-ERR it broke"}, {"PING", "+PONG"}},
			1, 1,
		},
		{
			"an opening command",
			zlimittest.Fault{
				Kind: zlimittest.Refuse, Text: "NOPROTO unsupported protocol version",
				On: "hello",
			},
			[]step{hit, {"HELLO 3", "-NOPROTO unsupported protocol version"}},
			1, 1,
		},
		{
			"unknown command",
			zlimittest.Fault{Kind: zlimittest.Refuse, Text: "ERR it broke"},
			[]step{{"NOSUCH", "-ERR it broke"}},
			0, 1,
		},
		{
			"in MULTI",
			zlimittest.Fault{Kind: zlimittest.OutOfMemory},
			[]step{
				{"MULTI", "+OK"},
				{hit.ask, oom},
				{"EXEC", "-EXECABORT Transaction discarded because of previous errors."},
			},
			0, 1,
		},
		{
			"drop EXEC's reply",
			zlimittest.Fault{Kind: zlimittest.DropReply, On: "EXEC"},
			[]step{{"MULTI", "+OK"}, {hit.ask, "+QUEUED"}, {"EXEC", "gone"}},
			1, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
			injected := srv.Inject(c.fault)
			conn := dial(t, srv)
			for _, s := range c.steps {
				if s.ask == "" {
					require.Equal(t, s.reply, conn.reply())
					continue
				}
				require.Equal(t, s.reply, conn.ask(s.ask), s.ask)
			}
			require.Equal(t, c.hits, injected.Hits())
			srv.Key("user:42").RequireUnits(c.units)
		})
	}
}

// TestMute checks that the command has run and that the client waits until its timeout;
// in a bubble, so that the timeout takes no time.
func TestMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zlimittest.RunT(t)
		srv.Inject(zlimittest.Fault{Kind: zlimittest.Mute})
		conn, err := srv.Dial()
		require.NoError(t, err)
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(3 * time.Second))
		_, err = conn.Write([]byte("RL.ALLOW user:42 3 1m\r\nPING\r\n"))
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 100))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		srv.Key("user:42").RequireUnits(1)
		require.Equal(t, second, dial(t, srv).ask("RL.ALLOW user:42 3 1m"), "other connections go on")
	})
}

// TestDelays delays until the test allows it, and by the bubble's clock.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zlimittest.RunT(t)
		c := dial(t, srv)
		begin := time.Now()
		srv.Inject(zlimittest.Fault{After: time.Minute})
		require.Equal(t, "+PONG", c.ask("PING"))
		require.Equal(t, time.Minute, time.Since(begin))

		gate := make(chan struct{})
		slow := srv.Inject(zlimittest.Fault{Kind: zlimittest.Loading, Until: gate})
		answered := make(chan string)
		go func() { answered <- c.ask("RL.ALLOW user:42 3 1m") }()
		<-slow.Met()
		synctest.Wait()
		require.Equal(t, "+PONG", dial(t, srv).ask("PING"), "other clients are not delayed")
		close(gate)
		require.Equal(t, loading, <-answered)

		slow.Remove()
		removed := srv.Inject(zlimittest.Fault{Kind: zlimittest.Close, Times: zlimittest.Always})
		removed.Remove()
		require.Equal(t, "+PONG", c.ask("PING"))
	})
}

// TestClosingEndsDelays checks that a closing server does not wait for faults.
func TestClosingEndsDelays(t *testing.T) {
	t.Parallel()
	srv, err := zlimittest.Start(zlimittest.Options{})
	require.NoError(t, err)
	never := srv.Inject(zlimittest.Fault{Until: make(chan struct{}), After: 24 * time.Hour})
	conn, err := srv.Dial()
	require.NoError(t, err)
	_, err = conn.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	<-never.Met()
	require.NoError(t, srv.Close())
	_ = conn.Close()
	_, err = srv.Dial()
	require.ErrorIs(t, err, net.ErrClosed)
}
