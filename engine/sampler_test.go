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

// kindNamed returns the kind whose String is name.
func kindNamed(name string) (k rl.Kind) {
	for k.String() != name {
		k++
	}
	return k
}
