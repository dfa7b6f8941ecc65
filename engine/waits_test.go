package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// waitsFor sends a call that waits.
func waitsFor(t testing.TB, e *engine.Engine, line string) *engine.Session {
	t.Helper()
	s := newSession(t, e)
	reply := do(s, line)
	require.NotNil(t, s.Blocked(), "%s answers %s", line, reply)
	return s
}

// resumed is the reply to a call that has waited.
func resumed(t testing.TB, s *engine.Session) string {
	t.Helper()
	require.True(t, s.Ready(), "it still waits")
	return show(s.Resume())
}

func TestQueueOfAKeyIsBounded(t *testing.T) {
	var soon timers
	e, h := newEngineWith(t, engine.Options{After: soon.after}, "--rl-max-waiting", "2")
	other := newSession(t, e)
	do(other, "RL.ALLOW k 1 1s")
	first := waitsFor(t, e, "RL.ALLOW k 1 1s WAIT 10s")
	second := waitsFor(t, e, "RL.MALLOW 2 j k TERM 1 1s TERM 1 1s WAIT 10s")
	const full = "ERR as many calls wait for key 'k' as rl-max-waiting allows (2)"
	require.Equal(t, full, do(other, "RL.ALLOW k 1 1s WAIT 1"))
	require.Equal(t, full, do(other, "RL.MALLOW 2 z k TERM 1 1s TERM 1 1s WAIT 1"))
	require.Equal(t, "[1 1 1 0 0 1000]", do(other, "RL.MALLOW 1 z TERM 1 1s"), "nothing was taken of it")
	require.Equal(t, "[0 1 0 1000 1000]", do(other, "RL.ALLOW k 1 1s"))

	first.Close()
	soon.run()
	third := waitsFor(t, e, "RL.ALLOW k 1 1s WAIT 10s")
	h.pass(1000)
	e.Tick()
	require.Equal(t, "[1 1 1 0 0 1000 1000]", resumed(t, second))
	require.False(t, third.Ready())

	do(other, "CONFIG SET rl-max-waiting 0")
	require.Contains(t, do(other, "RL.ALLOW k 1 1s WAIT 1"), "allows (0)")
	require.Equal(t, "[1 1 0 0 1000 0]", do(other, "RL.ALLOW free 1 1s WAIT 1"), "it need not wait")
}

// timers are those of an engine that end at once.
type timers struct{ due []func() }

func (m *timers) after(ms int64, fn func()) (stop func()) {
	if ms == 0 {
		m.due = append(m.due, fn)
	}
	return func() {}
}

func (m *timers) run() {
	due := m.due
	m.due = nil
	for _, fn := range due {
		fn()
	}
}

// Keys that are evicted, flushed, swapped or renamed leave room behind.
func TestRoomThatKeysLeaveBehind(t *testing.T) {
	for _, line := range []string{
		"FLUSHALL", "FLUSHDB", "RENAME k other", "MOVE k 3", "SWAPDB 0 5", "CONFIG SET maxmemory 1",
		"EXPIRE k 0", "ZREM k %s", "ZREMRANGEBYSCORE k -inf +inf", "GETDEL s", "SET s 0",
		"RESTORE k 0 x REPLACE", "DEBUG RESET",
	} {
		var soon timers
		e, _ := newEngineWith(t, engine.Options{After: soon.after}, "--maxmemory-policy", "allkeys-random",
			"--enable-debug-command", "yes")
		other := newSession(t, e)
		do(other, "RL.ALLOW k 1 1s")
		do(other, "RL.ALLOW s 1 1h ALGO FIXED")
		member := do(other, "ZRANGE k 0 0")
		waits := "RL.ALLOW k 1 1s WAIT 10s"
		if strings.Contains(line, " s") {
			waits = "RL.ALLOW s 1 1h ALGO FIXED WAIT 10s"
		}
		a := waitsFor(t, e, waits)
		if strings.HasPrefix(line, "RESTORE") {
			other.Do([][]byte{[]byte("RESTORE"), []byte("k"), []byte("0"), dumped(t), []byte("REPLACE")})
		} else {
			do(other, strings.Replace(line, "%s", strings.Trim(member, "[]"), 1))
		}
		do(other, "PING")
		soon.run()
		require.True(t, a.Ready(), line)
		if !strings.HasPrefix(line, "SET") && !strings.HasPrefix(line, "RESTORE") {
			require.True(t, strings.HasPrefix(show(a.Resume()), "[1 1 0 0 "), line)
		}
	}
}

// dumped is the payload of a string.
func dumped(t testing.TB) []byte {
	_, _, s := newServer(t)
	do(s, "SET x y")
	return []byte(strings.Clone(s.Do(args("DUMP x")).Str()))
}

// What a wait takes counts for its client, until it is over.
func TestWaitsCountAsMemory(t *testing.T) {
	e, _, other := newServer(t)
	do(other, "RL.ALLOW k 1 1s")
	id := strings.Repeat("x", 200)
	do(other, "RL.ACQUIRE k2 1 LEASE 1s ID y")
	memory := func() string { return field(do(other, "CLIENT LIST ID 2"), "tot-mem") }
	a := newSession(t, e)
	before := memory()
	do(a, "RL.ACQUIRE k2 1 LEASE 1s WAIT 10s ID "+id)
	require.NotNil(t, a.Blocked())
	var was, is int
	fmt.Sscan(before, &was)
	fmt.Sscan(memory(), &is)
	require.Greater(t, is, was+len(id))
	do(other, "RL.RELEASE k2 y")
	require.Equal(t, "[1 1 1 1000 0]", resumed(t, a))
	require.Equal(t, before, memory())
}

// A client that hangs up while it waits takes nothing any more.
func TestWaitsThatHangUpCountNoMemory(t *testing.T) {
	e, _, other := newServer(t)
	do(other, "RL.ALLOW k 1 1s")
	clients := func() (line string) {
		for line = range strings.Lines(do(other, "INFO memory")) {
			if strings.HasPrefix(line, "mem_clients_normal") {
				return line
			}
		}
		return line
	}
	before := clients()
	a := e.NewSession(engine.Peer{})
	do(a, "RL.ALLOW k 1 1s WAIT 10s")
	require.NotEqual(t, before, clients())
	a.Close()
	require.Equal(t, before, clients())
}

// field returns the value of name=value.
func field(line, name string) string {
	_, rest, _ := strings.Cut(line, " "+name+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}

// Notifications name what a call that has waited did, behind what let it go on.
func TestWaitsNotify(t *testing.T) {
	e, _ := newEngine(t, "--notify-keyspace-events", "KEA")
	listener, other := e.NewSession(engine.Peer{}), newSession(t, e)
	defer listener.Close()
	do(other, "RL.ALLOW k 1 1s")
	waitsFor(t, e, "RL.ALLOW k 1 1s WAIT 10s")
	do(listener, "PSUBSCRIBE __keyspace*")
	do(other, "DEL k")
	heard := heardBy(t, listener)
	require.Len(t, heard, 3)
	for i, event := range []string{"del", "zadd", "expire"} {
		require.Contains(t, heard[i], `:k" "`+event+`"`)
	}
}

// The log has what waiting calls have taken, and in the order in which they took it.
func TestWaitsAreLogged(t *testing.T) {
	for seed := range uint64(20) {
		w := newRoomWorld(t, seed, "")
		log := &logBuffer{}
		w.e.Record(log)
		for range 100 {
			if i := w.rnd.IntN(len(w.sessions)); w.calls[i] == nil && w.rnd.IntN(2) == 0 {
				require.Empty(t, w.call(i))
				w.m.settle()
			} else {
				w.disturb()
			}
			require.Empty(t, w.compare())
		}
		want := contents(w.other)
		do(w.other, "SELECT 0")
		h := &hands{}
		h.us.Store(w.m.nowMs * 1000)
		s := (&effectsWorld{hands: h}).reload(t, logged(t, log.take()))
		require.Equal(t, want, contents(s))
	}
}
