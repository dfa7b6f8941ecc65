package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
)

const (
	noAuth    = "NOAUTH Authentication required."
	wrongPass = "WRONGPASS invalid username-password pair or user is disabled."
)

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
