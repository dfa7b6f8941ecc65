package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine/traces"
	"github.com/zlimit/zlimit/race"
)

// TestUsedMemoryOfTop: used_memory has the counts of RL.TOP, and loses them when it is off.
func TestUsedMemoryOfTop(t *testing.T) {
	race.OneGoroutine(t)
	e, h, s := newServer(t, "--rl-top", "yes", "--rl-top-sampling", "1")
	name := strings.Repeat("n", 200)
	decide := func() {
		for i := range 8_000 {
			do(s, fmt.Sprintf("RL.ALLOW %s:%d 1 1s", name, i))
			do(s, fmt.Sprintf("RL.ALLOW %s:%d 1 1s", name, i))
			h.pass(1)
		}
	}
	require.Zero(t, e.MemoryUse().Top)
	decide()
	with := e.MemoryUse()
	require.Greater(t, with.Top, int64(1<<19), "the names that the table keeps")
	require.Less(t, with.Top, int64(10<<20), "the bound of docs/adr/0040")
	require.Contains(t, do(s, "INFO memory"), fmt.Sprintf("mem_rl_top:%d", with.Top))
	require.Equal(t, "OK", do(s, "CONFIG SET rl-top no"))
	without := e.MemoryUse()
	require.Zero(t, without.Top)
	require.Equal(t, with.Used()-with.Top, without.Used())
	decide()
	require.Zero(t, e.MemoryUse().Top, "it is off")
}

// TestUsedMemoryOfTraces: used_memory has the decisions that RL.TRACE keeps.
func TestUsedMemoryOfTraces(t *testing.T) {
	race.OneGoroutine(t)
	e, _, s := newServer(t, "--rl-top", "no")
	do(s, "RL.ALLOW k 5 1h")
	before := e.MemoryUse()
	require.Zero(t, before.Traces)
	require.Equal(t, "OK", do(s, "RL.TRACE ON k 1000"))
	empty := e.MemoryUse().Traces
	require.Positive(t, empty)
	for range 2000 {
		do(s, "RL.ALLOW k 1 1h") // denied: the key does not grow
	}
	with := e.MemoryUse()
	require.GreaterOrEqual(t, with.Traces, empty+32*1000)
	require.Less(t, with.Traces, empty+2*32*1000)
	require.Equal(t, before.Used()+with.Traces, with.Used())
	require.Contains(t, do(s, "INFO memory"), fmt.Sprintf("mem_rl_trace:%d", with.Traces))
	require.Equal(t, "OK", do(s, "RL.TRACE ON k 1000"))
	require.Equal(t, empty, e.MemoryUse().Traces, "it began anew")
	require.Equal(t, "1", do(s, "RL.TRACE OFF k"))
	require.Equal(t, before.Used(), e.MemoryUse().Used())

	// All that can be kept.
	const each = traces.MaxDecisions / traces.MaxKeys
	for i := range traces.MaxKeys {
		require.Equal(t, "OK", do(s, fmt.Sprintf("RL.TRACE ON k%d %d", i, each)))
		for range each {
			do(s, fmt.Sprintf("RL.ALLOW k%d 1 1h", i))
		}
	}
	require.Less(t, e.MemoryUse().Traces, int64(4_200_000))
}
