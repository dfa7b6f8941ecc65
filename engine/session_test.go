package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
)

// The replies under CLIENT REPLY are the bytes that redis-server 7.0.15 sent for the same
// pipeline.
func TestClientReply(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"CLIENT REPLY ON", "PING"}, "+OK\r\n+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "PING", "PING"}, "+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "CLIENT REPLY SKIP", "PING", "PING"}, "+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "CLIENT REPLY ON", "PING"}, "+OK\r\n+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "NOSUCH", "PING"}, "+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "GET", "PING"}, "+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "RESET", "PING"}, "+PONG\r\n"},
		{
			[]string{"CLIENT REPLY OFF", "PING", "CLIENT REPLY SKIP", "PING", "CLIENT REPLY ON", "PING"},
			"+OK\r\n+PONG\r\n",
		},
		{[]string{"CLIENT REPLY OFF", "RESET", "PING"}, "+RESET\r\n+PONG\r\n"},
		{
			[]string{"CLIENT REPLY OFF", "NOSUCH", "GET", "CLIENT REPLY nonsense", "CLIENT REPLY ON"},
			"+OK\r\n",
		},
		{[]string{"CLIENT REPLY nonsense", "PING"}, "-ERR syntax error\r\n+PONG\r\n"},
		{[]string{"CLIENT REPLY SKIP", "MULTI", "SET k 1", "EXEC"}, "+QUEUED\r\n*1\r\n+OK\r\n"},
		{
			[]string{"MULTI", "SET k 1", "CLIENT REPLY nonsense", "EXEC"},
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n-ERR syntax error\r\n",
		},
		{
			[]string{"CLIENT REPLY OFF", "MULTI", "INCR n", "EXEC", "CLIENT REPLY ON", "GET n"},
			"+OK\r\n$1\r\n1\r\n",
		},
		{[]string{"CLIENT REPLY OFF", "RL.ALLOW l 1 1s", "CLIENT REPLY ON", "ZCARD l"}, "+OK\r\n:1\r\n"},
	} {
		t.Run(fmt.Sprint(c.lines), func(t *testing.T) {
			e, _ := newEngine(t)
			require.Equal(t, c.want, wire(newSession(t, e), c.lines...))
		})
	}
}

const (
	noAuth    = "NOAUTH Authentication required."
	wrongPass = "WRONGPASS invalid username-password pair or user is disabled."
)

func TestPasswordSetAtRunTime(t *testing.T) {
	e, _ := newEngine(t)
	old := newSession(t, e)
	dialog{
		{"AUTH x", "ERR AUTH <password> called without any password configured for the default user. " +
			"Are you sure your configuration is correct?"},
		{"AUTH default whatever", "OK"},
		{"AUTH other whatever", wrongPass},
		{"CONFIG SET requirepass secret", "OK"},
		{"PING", "PONG"}, // who was in stays in
	}.play(t, old)

	stranger := newSession(t, e)
	require.False(t, stranger.Authenticated())
	dialog{
		{"PING", noAuth},
		{"RL.ALLOW k 1 1s", noAuth},
		{"MULTI", noAuth},
		{"EXEC", "EXECABORT Transaction discarded because of: NOAUTH Authentication required."},
		{"NOSUCH", "ERR unknown command 'NOSUCH', with args beginning with: "},
		{"GET", "ERR wrong number of arguments for 'get' command"},
		{"AUTH wrong", wrongPass},
		{"AUTH secre", wrongPass},
		{"AUTH secret2", wrongPass},
		{"AUTH other secret", wrongPass},
		{"AUTH default secret x", "ERR syntax error"},
		{"HELLO 3 AUTH default wrong", wrongPass},
		{
			"HELLO 3 SETNAME n",
			"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH " +
				"<user> <pass> " +
				"option can be used to authenticate the client and select the RESP protocol version at the " +
				"same time",
		},
	}.play(t, stranger)
	require.Equal(t, 2, stranger.Proto())
	require.False(t, stranger.Authenticated())
	dialog{
		{"AUTH default secret", "OK"},
		{"PING", "PONG"},
		{"AUTH wrong", wrongPass},
		{"PING", "PONG"},
	}.play(t, stranger)
	require.True(t, stranger.Authenticated())

	// RESET logs out.
	dialog{{"RESET", "RESET"}, {"PING", noAuth}, {"AUTH secret", "OK"}, {"PING", "PONG"}}.play(t, stranger)

	// Where the password is taken away, everybody may come in, who never logged in too.
	third := newSession(t, e)
	require.Equal(t, noAuth, do(third, "PING"))
	require.Equal(t, "OK", doWords(old, "CONFIG", "SET", "requirepass", ""))
	require.Equal(t, "PONG", do(third, "PING"))
	require.True(t, third.Authenticated())
	require.Contains(t, do(third, "HELLO 3"), "NOAUTH HELLO must be called") // as in Redis
	require.Equal(t, "OK", do(old, "CONFIG SET requirepass other"))
	require.Equal(t, noAuth, do(third, "PING"))
	require.False(t, third.Authenticated())
}

func TestReset(t *testing.T) {
	e, _ := newEngine(t)
	s, other := newSession(t, e), newSession(t, e)
	do(s, "HELLO 3 SETNAME me")
	do(s, "SELECT 5")
	do(s, "CLIENT NO-EVICT ON")
	do(s, "WATCH k")
	do(s, "MULTI")
	do(s, "SET k v")
	dialog{
		{"RESET", "RESET"},
		{"EXEC", "ERR EXEC without MULTI"},
		{"CLIENT GETNAME", "(nil)"},
	}.play(t, s)
	require.Equal(t, 2, s.Proto())
	require.Contains(t, do(s, "CLIENT INFO"), " flags=N db=0 ")
	do(other, "SET k v")
	dialog{{"MULTI", "OK"}, {"GET k", "QUEUED"}, {"EXEC", "[v]"}}.play(t, s)
	// In MULTI it runs at once, too.
	dialog{
		{"MULTI", "OK"},
		{"RESET x", "ERR wrong number of arguments for 'reset' command"},
		{"RESET", "RESET"},
		{"PING", "PONG"},
	}.play(t, s)
}

func TestQuitAndHTTP(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	do(s, "MULTI")
	require.Equal(t, "OK", do(s, "QUIT with words"))
	require.True(t, s.Closing())

	for _, line := range []string{"POST / HTTP/1.1", "Host: localhost"} {
		s := newSession(t, e)
		require.Equal(t, "(nothing)", do(s, line))
		require.True(t, s.Closing(), line)
	}
}

const debugOff = `ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", ` +
	`you can run it from a local connection, otherwise you need to set this option in the ` +
	`configuration file, and then restart the server.`

func TestEnableDebugCommand(t *testing.T) {
	for _, c := range []struct {
		directive     []string
		local, remote string
	}{
		{nil, debugOff, debugOff},
		{[]string{"--enable-debug-command", "no"}, debugOff, debugOff},
		{[]string{"--enable-debug-command", "local"}, "OK", debugOff},
		{[]string{"--enable-debug-command", "yes"}, "OK", "OK"},
	} {
		t.Run(fmt.Sprint(c.directive), func(t *testing.T) {
			e, _ := newEngine(t, c.directive...)
			local := newSession(t, e)
			remote := e.NewSession(engine.Peer{Addr: "192.0.2.1:1"})
			t.Cleanup(remote.Close)
			require.Equal(t, c.local, do(local, "DEBUG CLOCK FREEZE"))
			require.Equal(t, c.remote, do(remote, "DEBUG CLOCK FREEZE"))
			require.Equal(t, c.local == "OK" || c.remote == "OK", e.Clock().Frozen())
			// Nobody lets himself in.
			require.Contains(t, do(remote, "CONFIG SET enable-debug-command yes"), "ERR CONFIG SET failed")
			require.Equal(t, c.remote, do(remote, "DEBUG CLOCK FREEZE"))
		})
	}
}

func TestShutdown(t *testing.T) {
	calls := 0
	owned := func() *engine.Engine {
		h := &hands{}
		return engine.New(engine.Options{
			Config: config.New(),
			Clock: clock.New(clock.Sources{
				Monotonic: func() int64 { return h.us },
				Wall:      func() int64 { return startNowMs * 1000 },
			}),
			Shutdown: func() { calls++ },
		})
	}
	s := newSession(t, owned())
	for _, c := range []struct{ line, want string }{
		{"SHUTDOWN nonsense", "ERR syntax error"},
		{"SHUTDOWN SAVE NOSAVE", "ERR syntax error"},
		{"SHUTDOWN ABORT NOW", "ERR syntax error"},
		{"SHUTDOWN ABORT", "ERR No shutdown in progress."},
	} {
		require.Equal(t, c.want, do(s, c.line), c.line)
		require.False(t, s.Closing())
	}
	require.Zero(t, calls)
	require.Equal(t, "ERR This Redis command is not allowed from script script: ",
		doWords(s, "EVAL", "return redis.call('SHUTDOWN')",
			"0")[:len("ERR This Redis command is not allowed from script script: ")])
	for i, line := range []string{
		"SHUTDOWN", "shutdown nosave", "SHUTDOWN NOSAVE NOW FORCE",
		"SHUTDOWN SAVE FORCE",
	} {
		s := newSession(t, owned())
		require.Equal(t, "(nothing)", do(s, line), line)
		require.True(t, s.Closing())
		require.Equal(t, "ERR No shutdown in progress.", do(s, "SHUTDOWN ABORT"), "it is too late")
		require.Equal(t, i+1, calls)
	}

	nobody, _ := newEngine(t) // an embedded engine
	s = newSession(t, nobody)
	require.Contains(t, do(s, "SHUTDOWN"), "ERR SHUTDOWN is not possible")
	require.False(t, s.Closing())
}
