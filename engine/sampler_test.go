package engine_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

func TestInfoLimiter(t *testing.T) {
	e, clock, s := newServer(t)
	require.Equal(t, "-1", infoOf(s, "held_age_ms"), "before the first sample")
	for _, line := range []string{
		"RL.ALLOW a 2 1h", "RL.ALLOW a 2 1h COST 5 ATMOST", "RL.ALLOW a 2 1h", "RL.ALLOW a 2 1h COST 0",
		"RL.ALLOW a -1 1h",
		"MULTI", "RL.ALLOW f 1 1h ALGO FIXED", "RL.ALLOW f 1 1h ALGO FIXED FULL", "EXEC",
		"RL.ALLOW g 5 1h ALGO GCRA 2", "CL.THROTTLE g2 0 1 60", "CL.THROTTLE g2 0 1 60",
		"CL.THROTTLE g2 0 1 60 0",
		"RL.ALLOW b 9 1h COST 4 ALGO BUCKETS 3", "RL.MALLOW 2 x 5 1m y 5 1m COST 2",
		"RL.MALLOW 2 x 5 1m y 5 1m COST 4",
		"EVAL return{redis.call('RL.ALLOW','a','2','1h'),redis.pcall('RL.ALLOW','s','3','1h')} 2 a s",
		"SET plain v", "RPUSH l 1 2", "SADD set x", "HSET h f v", "ZADD z 1 x", "SELECT 3", "SET other 1",
	} {
		do(s, line)
	}
	for name, want := range map[string]string{
		"limiter_allowed": "8", "limiter_denied": "5", "limiter_peeked": "2", "limiter_units": "14",
		"algorithm_log":     "allowed=4,denied=3,peeked=1,units=7,shadow=0",
		"algorithm_fixed":   "allowed=1,denied=1,peeked=0,units=1,shadow=0",
		"algorithm_gcra":    "allowed=2,denied=1,peeked=1,units=2,shadow=0",
		"algorithm_buckets": "allowed=1,denied=0,peeked=0,units=4,shadow=0",
		"command_rl.mallow": "allowed=1,denied=1,peeked=0,units=4,shadow=0",
	} {
		require.Equal(t, want, infoOf(s, name), name)
	}
	e.Tick()
	held := e.Facts().Stats.Sampler.Last()
	require.Equal(t, int64(4), held.By[kindNamed("log")].Keys)
	require.Equal(t, int64(7), held.By[kindNamed("log")].Hits)
	require.Equal(t, int64(1), held.By[kindNamed("fixed")].Hits)
	require.Equal(t, int64(4), held.By[kindNamed("buckets")].Hits)
	require.Equal(t, int64(2), held.By[kindNamed("gcra")].Keys)
	for name, want := range map[string]int64{"string": 2, "list": 1, "set": 1, "hash": 1, "zset": 1} {
		kind := kindNamed(name)
		require.Equal(t, want, held.By[kind].Keys, kind)
		require.Greater(t, held.By[kind].Bytes, int64(48), kind)
	}
	clock.pass(500)
	require.Equal(t, "500", infoOf(s, "held_age_ms"))
	do(s, "FLUSHALL")
	e.Tick() // too early for another one
	require.Equal(t, "14", infoOf(s, "held_keys"))
	clock.pass(600)
	e.Tick()
	require.Equal(t, "0", infoOf(s, "held_keys"))

	do(s, "RL.ALLOW a 2 1h")
	do(s, "CONFIG RESETSTAT")
	require.Equal(t, "0", infoOf(s, "limiter_allowed"),
		"nor does what the asker had not handed over come later")
}

// TestSampleInSteps checks that several Ticks count a keyspace above one Tick's share,
// each key once, and yield now and then. The share decreases with hz, and applies to
// overdue keys that are not yet removed too.
func TestSampleInSteps(t *testing.T) {
	race.OneGoroutine(t)
	const n, perSecond, slice, rest = 12_000, 10_000, 128, 512
	for name, c := range map[string]struct {
		hz   int
		ttl  string
		held int64
	}{
		"ten a second":     {10, "", n},
		"a hundred":        {100, "", n},
		"all are overdue":  {10, " PX 10", 0},
		"one in a second":  {1, "", n},
		"more than a step": {500, "", n},
	} {
		t.Run(name, func(t *testing.T) {
			rests, ticks := 0, 0
			e, h := newEngineWith(t, engine.Options{Pause: func() { rests++ }}, "--hz", strconv.Itoa(c.hz))
			s := newSession(t, e)
			for i := range n {
				do(s, fmt.Sprintf("SET k%d v%s", i, c.ttl))
			}
			do(s, "SELECT 3")
			do(s, "SET other v PX 10")
			keys, ok := e.Keys()
			require.True(t, ok)
			require.Equal(t, n+1, keys, "in all databases")
			h.pass(11)
			for ; !e.Facts().Stats.Sampler.Last().Taken && ticks < n; ticks++ {
				e.Count()
			}
			share := perSecond / c.hz
			require.GreaterOrEqual(t, ticks, n/(share+slice))
			require.LessOrEqual(t, ticks, 3*n/share+1)
			if share > rest {
				require.GreaterOrEqual(t, rests, n/(rest+slice)-ticks)
			}
			require.Equal(t, c.held, e.Facts().Stats.Sampler.Last().By[kindNamed("string")].Keys)
			h.pass(2000)
			require.Equal(t, c.held, e.Sample().By[kindNamed("string")].Keys)
		})
	}
}

// TestErrorCodesAreBounded checks that scripts, which choose their error codes, cannot
// fill errorstats.
func TestErrorCodesAreBounded(t *testing.T) {
	_, _, s := newServer(t)
	for i := range 300 {
		doWords(s, "EVAL", "return {err=ARGV[1]}", "0", fmt.Sprintf("CODE%d x", i))
	}
	s.Do([][]byte{[]byte("EVAL"), []byte("return {err=string.rep('x',1000)..' y'}"), []byte("0")})
	names, counted := 0, 0
	for _, line := range lines(do(s, "INFO errorstats")) {
		var n int
		if i := len("errorstat_"); len(line) > i && line[:i] == "errorstat_" {
			names++
			require.Less(t, len(line), 100)
			_, err := fmt.Sscanf(line[lastEqual(line):], "=%d", &n)
			require.NoError(t, err)
			counted += n
		}
	}
	require.Equal(t, 128, names)
	require.Equal(t, 301, counted)
	do(s, "CONFIG RESETSTAT")
	require.Empty(t, infoOf(s, "errorstat_CODE1"))
}

// kindNamed returns the kind whose String is name.
func kindNamed(name string) (k rl.Kind) {
	for k.String() != name {
		k++
	}
	return k
}
