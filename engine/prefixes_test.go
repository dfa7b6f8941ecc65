package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// prefixFull is the refusal of a call under "t:" with a limit of n keys.
func prefixFull(n int) string {
	return fmt.Sprintf("LIMITKEYS prefix 't:' has reached its limit of %d keys", n)
}

// keysUnder returns how many keys a prefix counts.
func keysUnder(t *testing.T, e *engine.Engine, prefix string) int {
	t.Helper()
	for _, p := range e.Facts().Store.PrefixFigures() {
		if p.Prefix == prefix {
			return int(p.Keys)
		}
	}
	require.Fail(t, "no such prefix", prefix)
	return 0
}

// TestPrefixLimitOfManyKeys sets a limit while there are many keys, and counts them in the steps of Tick.
func TestPrefixLimitOfManyKeys(t *testing.T) {
	race.OneGoroutine(t)
	pauses := 0
	e, _ := newEngineWith(t, engine.Options{Pause: func() { pauses++ }})
	s := newSession(t, e)
	const keys = 50_000
	for i := range keys {
		do(s, fmt.Sprint("SET t:", i, " v"))
	}
	require.Equal(t, "OK", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", "t: 50001"))
	require.Equal(t, keys, keysUnder(t, e, "t:"), "CONFIG SET returns when all are counted")
	require.Greater(t, pauses, keys/1024, "and lets others run meanwhile")
	require.Equal(t, "[1 9 8 0 60000]", do(s, "RL.ALLOW t:new 9 1m"))
	require.Equal(t, prefixFull(keys+1), do(s, "RL.ALLOW t:new2 9 1m"))

	// EXEC holds shards, so the next Ticks count.
	do(s, "MULTI")
	do(s, "GET t:1")
	require.Equal(t, "QUEUED", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", "t:1 5 t: 7"))
	do(s, "RL.ALLOW t:new2 9 1m")
	do(s, "RL.ALLOW t:1new 9 1m")
	require.Equal(t, "[v OK "+prefixFull(7)+" "+prefixFull(7)+"]", do(s, "EXEC"),
		"the new limit of t: holds at once")
	require.Equal(t, "1", infoOf(s, "limiter_prefixes_counting"))
	require.Zero(t, keysUnder(t, e, "t:1"))
	pauses = 0
	e.Tick()
	require.Equal(t, "1", infoOf(s, "limiter_prefixes_counting"), "too many for one Tick")
	require.LessOrEqual(t, pauses, 64+4, "the sampler pauses, too")
	for infoOf(s, "limiter_prefixes_counting") == "1" {
		e.Tick()
	}
	require.Equal(t, 11111, keysUnder(t, e, "t:1"))
	require.Equal(t, "OK", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", ""))
	require.Equal(t, "[1 9 8 0 60000]", do(s, "RL.ALLOW t:new2 9 1m"))
	require.NotContains(t, do(s, "INFO limiter"), "limiter_prefix")
	require.Equal(t, "[rl-max-keys-per-prefix ]", do(s, "CONFIG GET rl-max-keys-per-prefix"))
}
