package engine_test

import (
	"fmt"
	"strings"
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

// TestPrefixRefusesNewKeys tests every command that creates a limiter's key. Under a full prefix it is
// refused if it would create one, and changes nothing. Otherwise it answers as without a limit.
func TestPrefixRefusesNewKeys(t *testing.T) {
	for _, creates := range []string{
		"RL.ALLOW KEY 2 1m", "RL.ALLOW KEY 2 1m COST 2", "RL.ALLOW KEY 2 1m ATMOST COST 9",
		"RL.ALLOW KEY 2 1m FULL", "RL.ALLOW KEY 2 1m 9 1h", "RL.ALLOW KEY 2 1m ALGO FIXED",
		"RL.ALLOW KEY 2 1m ALGO GCRA 2",
		"RL.ALLOW KEY 2 1m ALGO BUCKETS 3", "RL.ALLOW KEY 2 1m ALGO COUNTER", "RL.MALLOW 1 KEY 2 1m",
		"RL.MALLOW 3 a 2 1m KEY 2 1m b 2 1m", "CL.THROTTLE KEY 1 1 60", "RL.ACQUIRE KEY 2 LEASE 1m ID i",
		"RL.RESERVE KEY 2 1m 1 HOLD 1m ID i",
	} {
		t.Run(creates, func(t *testing.T) {
			without, _ := newEngine(t)
			e, _ := newEngine(t, "--rl-max-keys-per-prefix", "t:", "2")
			free, s := newSession(t, without), newSession(t, e)
			call := func(key string) string { return strings.ReplaceAll(creates, "KEY", key) }

			do(s, "SET t:plain v")
			do(s, "SET t:plain2 v")
			require.Equal(t, prefixFull(2), do(s, call("t:new")))
			require.Equal(t, "2", do(s, "DBSIZE"), "nothing else was created either")
			require.Equal(t, 2, keysUnder(t, e, "t:"))
			require.Equal(t, do(free, call("u:new")), do(s, call("u:new")), "another prefix")

			do(s, "DEL t:plain t:plain2")
			do(free, "DEL a b")
			do(s, "DEL a b")
			require.Equal(t, do(free, call("t:new")), do(s, call("t:new")))
			do(s, "SET t:last v")
			do(free, "DEL a b")
			do(s, "DEL a b")
			require.Equal(t, do(free, call("t:new")), do(s, call("t:new")), "a key that exists is decided")
			require.Equal(t, prefixFull(2), do(s, call("t:other")))
		})
	}
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
