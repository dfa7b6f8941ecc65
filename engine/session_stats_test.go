package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/info"
)

// TestDebugIsOneCommand: as in Redis the subcommands of DEBUG have no statistics of their
// own.
func TestDebugIsOneCommand(t *testing.T) {
	e, _, s := newServer(t, "--enable-debug-command", "yes")
	do(s, "debug sleep 0")
	other := newSession(t, e)
	do(other, "debug sleep 0")
	other.Publish(engine.Buffers{})
	require.Contains(t, do(s, "client list"), "cmd=debug ")
	require.Regexp(t, `^\[debug \[calls 2 histogram_usec `, do(s, "latency histogram debug"))
	require.Equal(t, "[]", do(s, "latency histogram debug|sleep"))
	require.NotContains(t, do(s, "info latencystats"), "debug|")
	e.Facts().Samples(func(_ *info.Metric, _ any, labels ...string) {
		for _, l := range labels {
			require.NotContains(t, l, "debug|")
		}
	})
}
