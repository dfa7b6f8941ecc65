package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// A dialog is command lines and their replies, in order.
type dialog []struct{ line, want string }

func (d dialog) play(t *testing.T, s *engine.Session) {
	t.Helper()
	for i, step := range d {
		require.Equal(t, step.want, do(s, step.line), "step %d: %s", i, step.line)
	}
}

// wire runs lines as one client's pipeline and returns the bytes it would read.
func wire(s *engine.Session, lines ...string) string {
	var out []byte
	for _, line := range lines {
		reply := s.Do(args(line))
		out = resp.Append(out, &reply, s.Proto())
	}
	return string(out)
}

// runningEngine returns an engine whose clock advances by 7 ms with every reading.
func runningEngine() (*engine.Engine, *int64) {
	us := new(int64)
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { *us += 7000; return *us },
		Wall:      func() int64 { return startNowMs * 1000 },
	})
	return engine.New(engine.Options{Clock: c}), us
}

// TestExecAndScriptsRunAtOneInstant: only TIME, asked for, says how it moves on, as in Redis 7.0.
func TestExecAndScriptsRunAtOneInstant(t *testing.T) {
	e, _ := runningEngine()
	s := newSession(t, e)
	first := do(s, "TIME")
	require.NotEqual(t, first, do(s, "TIME"), "this clock does not run")

	dialog{
		{"MULTI", "OK"},
		{"TIME", "QUEUED"},
		{"SET k v PX 1000", "QUEUED"},
		{"PTTL k", "QUEUED"},
		{"RL.ALLOW l 1 1s", "QUEUED"},
		{"RL.ALLOW l 1 1s", "QUEUED"},
		{"TIME", "QUEUED"},
	}.play(t, s)
	replies := s.Do(args("EXEC")).Elems()
	require.Len(t, replies, 6)
	require.Less(t, show(replies[0]), show(replies[5]))
	require.Equal(t, "1000", show(replies[2]))
	require.Equal(t, "[1 1 0 0 1000]", show(replies[3]))
	require.Equal(t, "[0 1 0 1000 1000]", show(replies[4]))

	for _, script := range []string{
		"local a = redis.call('TIME') for i = 1, 1000 do end local b = redis.call('TIME') return " +
			"a[1]*1000000+a[2]<b[1]*1000000+b[2]",
		// A budget of time ends.
		"local function us() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end " +
			"local begin, n = us(), 0 while us() - begin < 50000 do n = n + 1 end return n > 0",
		"redis.call('SET', KEYS[1], 'v', 'PX', 500) return redis.call('PTTL', KEYS[1]) == 500",
		"redis.call('RL.ALLOW', KEYS[1]..'l', 1, 1000) return redis.call('RL.ALLOW', KEYS[1]..'l', 1, " +
			"1000)[4] == 1000",
	} {
		require.Equal(t, "1", doWords(s, "EVAL", script, "1", "x"), script)
	}
}

func TestAKeyDoesNotExpireInsideExec(t *testing.T) {
	e, us := runningEngine()
	s := newSession(t, e)
	do(s, "SET k v PX 30")
	*us += 10_000
	dialog{
		{"MULTI", "OK"},
		{"GET k", "QUEUED"},
		{"GET k", "QUEUED"},
		{"GET k", "QUEUED"},
		{"GET k", "QUEUED"},
	}.play(t, s)
	replies := strings.Fields(strings.Trim(do(s, "EXEC"), "[]"))
	require.Len(t, replies, 4)
	for _, r := range replies {
		require.Equal(t, replies[0], r)
	}
}

// The expected errors are Redis' (commands refused while queueing) and, for
// DEBUG, RL.ALLOW and SHUTDOWN, our own.
func TestErrorsWhileQueueingAbort(t *testing.T) {
	for _, bad := range []struct{ line, want string }{
		{"NOSUCH a b", "ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' "},
		{"GET", "ERR wrong number of arguments for 'get' command"},
		{"RL.ALLOW k 1", "ERR wrong number of arguments for 'rl.allow' command"},
		{"CONFIG NOSUCH", "ERR unknown subcommand 'NOSUCH'. Try CONFIG HELP."},
		{"CONFIG GET", "ERR wrong number of arguments for 'config|get' command"},
		{"DEBUG CLOCK FREEZE", "ERR Command not allowed inside a transaction"},
		{"SHUTDOWN NOSAVE", "ERR Command not allowed inside a transaction"},
	} {
		t.Run(bad.line, func(t *testing.T) {
			e, _ := newEngine(t, "--enable-debug-command", "yes")
			s := newSession(t, e)
			dialog{
				{"MULTI", "OK"},
				{"SET k v", "QUEUED"},
				{bad.line, bad.want},
				{"SET k w", "QUEUED"},
				{"EXEC", "EXECABORT Transaction discarded because of previous errors."},
				{"EXISTS k", "0"},
				{"EXEC", "ERR EXEC without MULTI"},
			}.play(t, s)
			// DISCARD forgets the error with the rest.
			dialog{
				{"MULTI", "OK"},
				{bad.line, bad.want},
				{"DISCARD", "OK"},
				{"MULTI", "OK"},
				{"SET k v", "QUEUED"},
				{"EXEC", "[OK]"},
			}.play(t, s)
		})
	}
}

func TestErrorsThatDoNotAbort(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	dialog{
		{"MULTI", "OK"},
		{"MULTI", "ERR MULTI calls can not be nested"},
		{"WATCH k", "ERR WATCH inside MULTI is not allowed"},
		{"SET k text", "QUEUED"},
		{"INCR k", "QUEUED"},
		{"RL.ALLOW k 1 1s", "QUEUED"},
		{"RL.ALLOW l -1 1s", "QUEUED"},
		{"GET k", "QUEUED"},
		{"EXEC", "[OK ERR value is not an integer or out of range WRONGTYPE Operation against a key " +
			"holding the wrong kind of value" +
			" ERR limit must not be negative text]"},
		{"EXEC", "ERR EXEC without MULTI"},
		{"DISCARD", "ERR DISCARD without MULTI"},
		{"EXEC now", "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' " +
			"command"},
		{"MULTI", "OK"},
		{"EXEC now", "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' " +
			"command"},
		{"EXEC", "ERR EXEC without MULTI"},
		{"MULTI", "OK"},
		{"EXEC", "[]"},
	}.play(t, s)
}

// TestHelloInsideExec checks that replies before HELLO keep the former protocol. The
// bytes are those of redis-server 7.0.15.
func TestHelloInsideExec(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	id := do(s, "CLIENT ID")
	fields := "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n" +
		"$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:" + id +
		"\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	hello3, hello2 := "%7\r\n"+fmt.Sprintf(fields, 3), "*14\r\n"+fmt.Sprintf(fields, 2)

	require.Equal(t, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n$-1\r\n"+hello3+"_\r\n",
		wire(s, "MULTI", "GET nokey", "HELLO 3", "GET nokey", "EXEC"))
	require.Equal(t, "_\r\n", wire(s, "GET nokey"))
	require.Equal(t,
		"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"+
			"*5\r\n_\r\n"+hello2+"$-1\r\n"+hello3+"_\r\n",
		wire(s, "MULTI", "GET nokey", "HELLO 2", "GET nokey", "HELLO 3", "GET nokey", "EXEC"))
	// Nested replies and doubles too.
	do(s, "ZADD z 1.5 a")
	require.Equal(t,
		"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"+
			"*3\r\n*1\r\n*2\r\n$1\r\na\r\n,1.5\r\n"+hello2+"*2\r\n$1\r\na\r\n$3\r\n1.5\r\n",
		wire(s, "MULTI", "ZRANGE z 0 -1 WITHSCORES", "HELLO 2", "ZRANGE z 0 -1 WITHSCORES", "EXEC"))
	// A HELLO that fails changes nothing.
	require.Equal(t, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-NOPROTO unsupported protocol version\r\n$-1\r\n",
		wire(s, "MULTI", "HELLO 4", "GET nokey", "EXEC"))
}

func TestSelectInsideExec(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	dialog{
		{"MULTI", "OK"},
		{"SET k zero", "QUEUED"},
		{"SELECT 3", "QUEUED"},
		{"SET k three", "QUEUED"},
		{"SWAPDB 0 3", "QUEUED"},
		{"GET k", "QUEUED"},
		{"SELECT 99", "QUEUED"},
		{"GET k", "QUEUED"},
		{"EXEC", "[OK OK OK OK zero ERR DB index is out of range zero]"},
		{"GET k", "zero"}, // database 3 stays selected
		{"SELECT 0", "OK"},
		{"GET k", "three"},
	}.play(t, s)
}

func TestWatch(t *testing.T) {
	// each line is run by another client between WATCH k and EXEC
	for _, c := range []struct {
		setup, between string
		aborts         bool
	}{
		{"SET k 1", "SET k 1", true},
		{"SET k 1", "GET k", false},
		{"SET k 1", "SET other 1", false},
		{"SET k 1", "DEL k", true},
		{"", "DEL k", false},
		{"", "SET k 1", true},
		{"SET k 1", "EXPIRE k 10", true},
		{"SET k 1", "PERSIST k", false},
		{"SET k 1 EX 9", "PERSIST k", true},
		{"SET k 1", "FLUSHALL", true},
		{"", "FLUSHALL", false},
		{"SET k 1", "SWAPDB 0 1", true},
		{"", "SWAPDB 0 1", false},
		{"SET k 1", "SWAPDB 1 2", false},
		{"SET k 1", "RENAME k j", true},
		{"SET j 1", "RENAME j k", true},
		{"ZADD k 1 a", "ZADD k 1 a", false},
		{"ZADD k 1 a", "ZADD k NX 2 a", false},
		{"ZADD k 1 a", "ZADD k 2 a", true},
		{"ZADD k 1 a", "ZREMRANGEBYSCORE k 5 9", false},
		{"ZADD k 1 a", "ZREM k b", false},
		{"ZADD k 1 a", "ZREM k a", true},
		{"ZADD k 1 a", "RL.ALLOW k 1 1s", false},
		{"RL.ALLOW k 1 1m", "RL.ALLOW k 1 1m", false},
		{"RL.ALLOW k 1 1m", "RL.ALLOW k 2 1m COST 0", false},
		{"RL.ALLOW k 1 1m", "RL.ALLOW k 2 1m", true},
		{"", "RL.ALLOW k 1 1m COST 0", false},
		{"", "RL.ALLOW k 1 1m", true},
		{"SET k 1", "SET k 2 NX", false},
		{"SET k 1", "SELECT 1", false},
	} {
		t.Run(c.setup+"; "+c.between, func(t *testing.T) {
			e, _ := newEngine(t)
			s, other := newSession(t, e), newSession(t, e)
			if c.setup != "" {
				do(other, c.setup)
			}
			do(s, "WATCH k")
			do(other, c.between)
			do(s, "MULTI")
			do(s, "PING")
			want := "[PONG]"
			if c.aborts {
				want = "(nil)"
			}
			require.Equal(t, want, do(s, "EXEC"))
			dialog{{"MULTI", "OK"}, {"PING", "QUEUED"}, {"EXEC", "[PONG]"}}.play(t, s) // watched no more
		})
	}
}

func TestWatchedKeysThatExpire(t *testing.T) {
	e, clock := newEngine(t)
	s := newSession(t, e)
	abort := dialog{{"MULTI", "OK"}, {"PING", "QUEUED"}, {"EXEC", "(nil)"}}
	run := dialog{{"MULTI", "OK"}, {"PING", "QUEUED"}, {"EXEC", "[PONG]"}}

	do(s, "SET k v PX 10")
	do(s, "WATCH k")
	clock.pass(10)
	run.play(t, s) // at its deadline a key still lives

	do(s, "WATCH k")
	clock.pass(1)
	abort.play(t, s)

	// Overdue already when it was watched: nothing changes.
	do(s, "SET k v PX 10")
	clock.pass(11)
	do(s, "WATCH k")
	e.Reclaim()
	run.play(t, s)

	// Reclaimed in between: it did change.
	do(s, "SET k v PX 10")
	do(s, "WATCH k")
	clock.pass(11)
	e.Reclaim()
	abort.play(t, s)
}

func TestWhatEndsAWatch(t *testing.T) {
	for _, end := range []string{"UNWATCH", "DISCARD", "RESET", "EXEC"} {
		t.Run(end, func(t *testing.T) {
			e, _ := newEngine(t)
			s, other := newSession(t, e), newSession(t, e)
			do(s, "WATCH k j")
			do(s, "MULTI")
			if end == "UNWATCH" { // runs at once only outside of MULTI
				do(s, "DISCARD")
				do(s, "WATCH k j")
			}
			do(s, end)
			do(other, "MSET k 1 j 1")
			dialog{{"MULTI", "OK"}, {"PING", "QUEUED"}, {"EXEC", "[PONG]"}}.play(t, s)
		})
	}
}

func TestAClosedSessionLeavesNothingBehind(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	gone := e.NewSession(engine.Peer{Addr: "127.0.0.1:2"})
	do(gone, "WATCH k")
	do(gone, "MULTI")
	do(gone, "SET k v")
	gone.Close()
	require.Equal(t, 1, e.Sessions())
	dialog{{"EXISTS k", "0"}, {"SET k w", "OK"}}.play(t, s)
}
