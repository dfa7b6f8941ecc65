package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
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
