package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine/stats"
)

// TestLatencyEvents: what takes as long as latency-monitor-threshold is a sample of its
// event, for commands by the flag fast.
func TestLatencyEvents(t *testing.T) {
	step := int64(1)
	e, _ := newTimedEngine(t, &step, "--slowlog-log-slower-than", "-1")
	s := newSession(t, e)
	slowly := func(fn func()) {
		step = 40_000
		fn()
		step = 1
	}
	slowly(func() { do(s, "set k v"); e.Tick() })
	require.Equal(t, "[]", do(s, "latency latest"), "the monitor is off")
	do(s, "config set latency-monitor-threshold 30")
	do(s, "set k v")
	require.Equal(t, "[]", do(s, "latency latest"))
	slowly(func() { do(s, "set k v"); do(s, "get k"); e.Tick() })
	require.Regexp(t, `^\[\[command 17\d{8} 40 40\] \[expire-cycle 17\d{8} \d+ \d+\] `+
		`\[fast-command 17\d{8} 40 40\]\]$`, do(s, "latency latest"))
	require.Regexp(t, `^\[\[17\d{8} 40\]\]$`, do(s, "latency history command"))
	report := do(s, "latency doctor")
	require.Contains(t, report,
		"command: 1 samples, 40 ms on average, the longest ever 40 ms.\n    SLOWLOG GET")
	require.Equal(t, "1", do(s, "latency reset nosuch command command"))
	require.Equal(t, "[]", do(s, "latency history command"))
	require.NotEqual(t, "0", do(s, "latency reset"))
	require.Equal(t, "[]", do(s, "latency latest"))
}

// TestEventSamples: 160 samples are kept, the longest of each second.
func TestEventSamples(t *testing.T) {
	var events stats.Events
	for i := range int64(200) {
		events.Add("e", i, 10)
		events.Add("e", i, i+5)
		events.Add("e", i, 7)
	}
	e := events.Get("e")
	require.Len(t, e.Samples, stats.EventSamples)
	require.Equal(t, stats.EventSample{UnixS: 40, Ms: 45}, e.Samples[0])
	require.Equal(t, stats.EventSample{UnixS: 199, Ms: 204}, e.Samples[159])
	events.Add("e", 500, 1)
	require.EqualValues(t, 204, events.Get("e").MaxMs)
	require.Equal(t, []string{"e"}, events.Names())
	require.Equal(t, 0, events.Reset("f"))
	require.Equal(t, 1, events.Reset("e", "e"))
	require.Empty(t, events.Get("e").Samples)
}
