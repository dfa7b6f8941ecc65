package latency

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEventSamples: 160 samples are kept, the longest of each second.
func TestEventSamples(t *testing.T) {
	var events Monitor
	for i := range int64(200) {
		events.Add("e", i, 10)
		events.Add("e", i, i+5)
		events.Add("e", i, 7)
	}
	e := events.get("e")
	require.Len(t, e.Samples, eventSamples)
	require.Equal(t, sample{UnixS: 40, Ms: 45}, e.Samples[0])
	require.Equal(t, sample{UnixS: 199, Ms: 204}, e.Samples[159])
	events.Add("e", 500, 1)
	require.EqualValues(t, 204, events.get("e").MaxMs)
	require.Equal(t, []string{"e"}, events.names())
	require.Equal(t, 0, events.reset("f"))
	require.Equal(t, 1, events.reset("e", "e"))
	require.Empty(t, events.get("e").Samples)
}
