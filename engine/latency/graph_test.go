package latency

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGraph: graphs are those of redis-server 7.0.15 for the same samples.
func TestGraph(t *testing.T) {
	text, err := os.ReadFile("testdata/graph.txt")
	require.NoError(t, err)
	recorded := strings.Split(string(text), "== ")[1:]
	require.Len(t, recorded, 15)
	for _, r := range recorded {
		title, r, _ := strings.Cut(r, "\n")
		figures, r, _ := strings.Cut(r, "\n")
		samples, graph, _ := strings.Cut(r, "\n")
		var nowS int64
		var e event
		_, err := fmt.Sscanf(figures, "now %d max %d", &nowS, &e.MaxMs)
		require.NoError(t, err)
		for _, s := range strings.Fields(samples)[1:] {
			at, ms, _ := strings.Cut(s, ":")
			var one sample
			one.UnixS, err = strconv.ParseInt(at, 10, 64)
			require.NoError(t, err)
			one.Ms, err = strconv.ParseInt(ms, 10, 64)
			require.NoError(t, err)
			e.Samples = append(e.Samples, one)
		}
		require.Equal(t, graph, draw("command", e, nowS), title)
		e.Samples[0].Ms += 30 // the comparison can fail
		require.NotEqual(t, graph, draw("command", e, nowS), title)
	}
}
