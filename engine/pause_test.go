package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// resume returns the reply of a session whose turn has come.
func resume(t testing.TB, s *engine.Session) string {
	t.Helper()
	require.NotNil(t, s.Blocked())
	require.True(t, s.Blocked().Over(), "it is still held")
	return show(s.Resume())
}

func requireHeld(t testing.TB, s *engine.Session, line string) {
	t.Helper()
	require.Equal(t, "(nothing)", do(s, line))
	require.NotNil(t, s.Blocked(), line)
	require.False(t, s.Blocked().Over(), line)
}

func sessions(t testing.TB, e *engine.Engine, n int) []*engine.Session {
	out := make([]*engine.Session, n)
	for i := range out {
		out[i] = newSession(t, e)
	}
	return out
}

// TestPauseReleasesInOrder checks that postponed commands run one after the other, in the
// order in which they came.
func TestPauseReleasesInOrder(t *testing.T) {
	e, h := newEngine(t)
	a := newSession(t, e)
	s := sessions(t, e, 4)
	do(a, "CLIENT PAUSE 100 WRITE")
	for i, line := range []string{"RPUSH l 1", "RPUSH l 2", "RPUSH l 3"} {
		requireHeld(t, s[i], line)
	}
	h.pass(99)
	e.Tick()
	require.False(t, s[0].Blocked().Over())
	h.pass(1)
	e.Tick()
	require.False(t, s[1].Blocked().Over(), "the first has not run")
	requireHeld(t, s[3], "RPUSH l 4") // nor may others overtake them
	require.Equal(t, "[]", do(a, "LRANGE l 0 -1"), "what is not held runs")
	for i, n := range []string{"1", "2", "3", "4"} {
		require.Equal(t, n, resume(t, s[i]))
	}
	require.Equal(t, "5", do(a, "RPUSH l 5"))
	require.Equal(t, "[1 2 3 4 5]", do(a, "LRANGE l 0 -1"))
}

// TestPauseWithClosedSessions checks that the others go on if a session closes while it
// waits, or when its turn has come.
func TestPauseWithClosedSessions(t *testing.T) {
	e, h := newEngine(t)
	a := newSession(t, e)
	s := sessions(t, e, 4)
	do(a, "CLIENT PAUSE 1000 WRITE")
	for _, o := range s {
		requireHeld(t, o, "INCR n")
	}
	s[1].Close()
	h.pass(1000)
	e.Tick()
	require.True(t, s[0].Blocked().Over())
	s[0].Close() // without taking its turn
	require.Equal(t, "1", resume(t, s[2]))
	require.Equal(t, "2", resume(t, s[3]))
	require.Equal(t, "3", do(a, "INCR n"))
	require.Contains(t, do(a, "INFO clients"), "blocked_clients:0")
}

// TestPauseByAPausedClient checks a CLIENT PAUSE that PAUSE ALL has postponed: when its
// turn comes it begins another pause, and those behind it that it postpones keep their
// order.
func TestPauseByAPausedClient(t *testing.T) {
	e, h := newEngine(t)
	a := newSession(t, e)
	s := sessions(t, e, 5)
	do(a, "CLIENT PAUSE 100 ALL")
	requireHeld(t, s[0], "RPUSH l 0")
	requireHeld(t, s[1], "CLIENT PAUSE 100 WRITE")
	requireHeld(t, s[2], "RPUSH l 2")
	requireHeld(t, s[3], "PING")
	requireHeld(t, s[4], "RPUSH l 4")
	h.pass(100)
	e.Tick()
	require.Equal(t, "1", resume(t, s[0]))
	require.Equal(t, "OK", resume(t, s[1]))
	require.Equal(t, "PONG", resume(t, s[3]), "the new pause does not hold it")
	require.False(t, s[2].Blocked().Over())
	require.Equal(t, "[0]", do(a, "LRANGE l 0 -1"))
	h.pass(100)
	e.Tick()
	require.Equal(t, "2", resume(t, s[2]))
	require.Equal(t, "3", resume(t, s[4]))
}

// TestPausedCommandMayWait checks that a postponed BLPOP waits for its key when its turn
// comes, and that the next one runs.
func TestPausedCommandMayWait(t *testing.T) {
	e, _ := newEngine(t)
	a := newSession(t, e)
	s := sessions(t, e, 2)
	do(a, "CLIENT PAUSE 1000 WRITE")
	requireHeld(t, s[0], "BLPOP l 7")
	require.Zero(t, s[0].Blocked().TimeoutMs(), "its time has not begun")
	requireHeld(t, s[1], "RPUSH l v")
	require.Equal(t, "0", do(a, "CLIENT UNBLOCK 2"), "it does not wait for a key")
	do(a, "CLIENT UNPAUSE")
	require.Equal(t, "(nothing)", resume(t, s[0]))
	require.EqualValues(t, 7000, s[0].Blocked().TimeoutMs())
	require.Equal(t, "1", resume(t, s[1]))
	require.Equal(t, "[l v]", resume(t, s[0]))
}

// TestPauseDoesNotHoldTheProgram checks that the program that runs the engine is not
// paused.
func TestPauseDoesNotHoldTheProgram(t *testing.T) {
	e, _ := newEngine(t)
	do(newSession(t, e), "CLIENT PAUSE 1000 ALL")
	owner := e.NewSession(engine.Peer{Owner: true})
	t.Cleanup(owner.Close)
	require.Equal(t, "OK", do(owner, "SET k v"))
}
