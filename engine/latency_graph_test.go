package engine_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/stats"
)

// TestLatencyGraph: graphs are those of redis-server 7.0.15 for the same samples.
func TestLatencyGraph(t *testing.T) {
	text, err := os.ReadFile("testdata/latency_graph.txt")
	require.NoError(t, err)
	recorded := strings.Split(string(text), "== ")[1:]
	require.Len(t, recorded, 15)
	for _, r := range recorded {
		title, r, _ := strings.Cut(r, "\n")
		figures, r, _ := strings.Cut(r, "\n")
		samples, graph, _ := strings.Cut(r, "\n")
		var nowS int64
		var event stats.Event
		_, err := fmt.Sscanf(figures, "now %d max %d", &nowS, &event.MaxMs)
		require.NoError(t, err)
		for _, s := range strings.Fields(samples)[1:] {
			at, ms, _ := strings.Cut(s, ":")
			var sample stats.EventSample
			sample.UnixS, err = strconv.ParseInt(at, 10, 64)
			require.NoError(t, err)
			sample.Ms, err = strconv.ParseInt(ms, 10, 64)
			require.NoError(t, err)
			event.Samples = append(event.Samples, sample)
		}
		require.Equal(t, graph, engine.LatencyGraph("command", event, nowS), title)
		event.Samples[0].Ms += 30 // the comparison can fail
		require.NotEqual(t, graph, engine.LatencyGraph("command", event, nowS), title)
	}
}
