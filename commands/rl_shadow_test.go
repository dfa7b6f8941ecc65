package commands_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// shadowRules are limits of each algorithm, and the most units that a window of LOG or BUCKETS may hold.
var shadowRules = []struct {
	key, rule string
	limit     int64
	windowMs  int64 // 0: the algorithm's own definition lets a window hold more
}{
	{"log", "5 100", 5, 100},
	{"buckets", "5 100 ALGO BUCKETS 4", 5, 100},
	{"fixed", "5 100 ALGO FIXED", 5, 0},
	{"gcra", "50 1000 ALGO GCRA 5", 5, 0},
	{"counter", "5 100 ALGO COUNTER", 5, 0},
}

// runShadows mixes calls with and without SHADOW on keys of every algorithm, alone and together, and returns
// the first broken promise. fault names a mistake in how the test reads the replies.
func runShadows(seed uint64, fault string) (marked int, err error) {
	r := rand.New(rand.NewPCG(seed, 53))
	b, nowMs := newBench(), int64(fuzzNowMs)
	type taking struct{ ms, units int64 }
	took := map[int][]taking{}
	for i := range 300 {
		nowMs += []int64{0, 0, 1, 5, 20, 33, 100, 250}[r.IntN(8)]
		b.ctx.NowMs, b.ctx.NowUs = nowMs, nowMs*1000
		b.ctx.Reset()
		rules, cost := []int{r.IntN(len(shadowRules))}, 1+r.Int64N(4)
		one := &shadowRules[rules[0]]
		line := fmt.Sprint("RL.ALLOW ", one.key, " ", one.rule, " COST ", cost)
		if r.IntN(3) == 0 {
			rules = r.Perm(len(shadowRules))[:2]
			line = fmt.Sprint("RL.MALLOW 2 ", shadowRules[rules[0]].key, " ", shadowRules[rules[1]].key)
			for _, rule := range rules {
				line += fmt.Sprint(" TERM ", shadowRules[rule].rule, " COST ", cost)
			}
		}
		shadow := r.IntN(2) == 0
		if shadow {
			line += " SHADOW"
		}
		before := b.dump()
		n := b.call(split(line)...).Elems()[len(rules)-1:]
		granted, wait := n[0].Int(), n[3].Int()
		switch {
		case shadow && granted != cost:
			return marked, fmt.Errorf("seed %d, step %d, %s: is not answered as admitted", seed, i, line)
		case wait != 0 && b.dump() != before:
			return marked, fmt.Errorf("seed %d, step %d, %s: a denial takes units", seed, i, line)
		case wait != 0:
			if marked += int(granted / cost); fault != "the mark is not read" {
				granted = 0
			}
		}
		for _, rule := range rules {
			key := &shadowRules[rule]
			took[rule] = append(took[rule], taking{nowMs, granted})
			peek := b.call(split("RL.ALLOW " + key.key + " " + key.rule + " PEEK FULL")...)
			used, units := peek.Elems()[13].Int(), int64(0)
			for _, t := range took[rule] {
				if t.ms > nowMs-key.windowMs {
					units += t.units
				}
			}
			if used > key.limit || units > key.limit {
				return marked, fmt.Errorf("seed %d, step %d, %s: %s has %d used and %d in a window, limit %d",
					seed, i, line, key.key, used, units, key.limit)
			}
		}
	}
	return marked, nil
}

// TestShadowNeverExceedsTheLimit: whatever calls with SHADOW are answered, they take what fits, or nothing.
func TestShadowNeverExceedsTheLimit(t *testing.T) {
	for seed := range uint64(20) {
		marked, err := runShadows(seed, "")
		require.NoError(t, err)
		require.Greater(t, marked, 20)
	}
	_, err := runShadows(1, "the mark is not read")
	require.Error(t, err)
}

// TestThrottleNames: RL.THROTTLE answers as CL.THROTTLE does.
func TestThrottleNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4081))
	b, nowMs := newBench(), int64(fuzzNowMs)
	for range 500 {
		nowMs += r.Int64N(900)
		b.ctx.NowMs, b.ctx.NowUs = nowMs, nowMs*1000
		rest := fmt.Sprint(" ", r.IntN(8)-2, " ", r.IntN(6)-1, " ", r.IntN(4))
		if r.IntN(2) == 0 {
			rest += fmt.Sprint(" ", r.IntN(6)-1)
		}
		b.ctx.Reset()
		want := format(b.call(split("CL.THROTTLE a" + rest)...))
		b.ctx.Reset()
		require.Equal(t, want, format(b.call(split("RL.THROTTLE b"+rest)...)), rest)
	}
	require.Equal(t, b.call("GET", "a").Str(), b.call("GET", "b").Str())
}
