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

// TestPauseWithClosedSessions checks that the others go on if a session closes while it
// waits, or when its turn has come.
func TestPauseWithClosedSessions(t *testing.T) {
	e, h, a := newServer(t)
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
