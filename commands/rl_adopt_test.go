package commands_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// adoptUnits are the times in which limiters' scripts count, by microseconds.
var adoptUnits = map[string]struct{ perMs, ofMs int64 }{
	"s": {1, 1000}, "ms": {1, 1}, "us": {1000, 1}, "ns": {1_000_000, 1},
}

// An adoptedKey is a key that a limiter's script and RL.ALLOW use in turn.
type adoptedKey struct {
	*bench
	unit            string
	expires, native bool
	random          *rand.Rand
	limit, windowMs int64
	scripted, rl    []int64 // instants of what each has admitted, in unix milliseconds; see counted
	hits            int     // of the script
}

// stamp returns an instant within a millisecond as the script writes it, rounded down.
func (k *adoptedKey) stamp(ms int64) int64 {
	u := adoptUnits[k.unit]
	return (ms*u.perMs + k.random.Int64N(u.perMs)) / u.ofMs
}

// script is the limiter of the documents, step by step. It reports whether it admits.
func (k *adoptedKey) script() bool {
	u, now := adoptUnits[k.unit], k.stamp(k.ctx.NowMs)
	from := now - k.windowMs*u.perMs/u.ofMs
	k.call("ZREMRANGEBYSCORE", "k", "0", fmt.Sprint(from))
	k.scripted = slices.DeleteFunc(k.scripted, func(ms int64) bool { return ms*u.perMs/u.ofMs <= from })
	card := k.call("ZCARD", "k")
	admits := card.Int() < k.limit
	if admits {
		k.hits++
		k.call("ZADD", "k", fmt.Sprint(now), fmt.Sprint(now, "-", k.hits))
	}
	if k.expires {
		k.call("PEXPIRE", "k", fmt.Sprint(k.windowMs))
	}
	return admits
}

// counted returns how many admissions the present instant's window holds, except those that
// the script has forgotten, which counts in its unit.
func (k *adoptedKey) counted() (n int64) {
	for _, ms := range slices.Concat(k.rl, k.scripted) {
		if ms > k.ctx.NowMs-k.windowMs {
			n++
		}
	}
	return n
}

// runAdopted runs a history in which RL.ALLOW has a limit that is higher by excess. It returns
// the first window that holds more than the limit.
func runAdopted(unit string, seed uint64, expires bool, excess int64) (switches, denials int, err error) {
	r := rand.New(rand.NewPCG(seed, 3))
	k := &adoptedKey{
		bench: newBench(), unit: unit, expires: expires, random: r, limit: 1 + r.Int64N(6),
		windowMs: []int64{1000, 3000, 10_000}[r.IntN(3)],
	}
	k.ctx.NowMs += r.Int64N(1000)
	for step := range 200 {
		steps := []int64{0, 0, 1, 99, 500, 999, 1000, k.windowMs - 1, k.windowMs}
		k.ctx.NowMs += steps[r.IntN(len(steps))] / (1 + r.Int64N(3))
		k.ctx.NowUs = k.ctx.NowMs * 1000
		k.ctx.Reset()
		if r.IntN(8) == 0 {
			k.native = !k.native
			line := "RL.ADOPT k"
			if !k.native {
				line += " BACK " + unit
			}
			card := k.call("ZCARD", "k")
			done := k.call(split(line)...)
			if done.IsError() || done.Int() != card.Int() {
				return 0, 0, fmt.Errorf("%s: %s, of %d members", line, done.Str(), card.Int())
			}
			switches += int(done.Int())
			if !k.native && !k.expires {
				k.call("PERSIST", "k") // as docs/migration.md says
			}
			again := k.call(split(line)...)
			if again.IsError() || again.Int() != 0 {
				return 0, 0, fmt.Errorf("%s again: %s %d", line, again.Str(), again.Int())
			}
		}
		admits := false
		if k.native {
			reply := k.call("RL.ALLOW", "k", fmt.Sprint(k.limit+excess), fmt.Sprint(k.windowMs))
			if reply.IsError() {
				return 0, 0, fmt.Errorf("step %d: %s", step, reply.Str())
			}
			if admits = reply.Elems()[0].Int() == 1; admits {
				k.rl = append(k.rl, k.ctx.NowMs)
			}
		} else if admits = k.script(); admits {
			k.scripted = append(k.scripted, k.ctx.NowMs)
		}
		if !admits {
			denials++
		} else if n := k.counted(); n > k.limit {
			return 0, 0, fmt.Errorf("unit %s, seed %d, step %d: %d in a window of %d",
				unit, seed, step, n, k.limit)
		}
	}
	return switches, denials, nil
}

// TestAdoptNeverOverAdmits lets a limiter's script and RL.ALLOW use one key in turn.
func TestAdoptNeverOverAdmits(t *testing.T) {
	for unit := range adoptUnits {
		for _, expires := range []bool{true, false} {
			converted, denied, found := 0, 0, false
			for seed := range uint64(200) {
				c, d, err := runAdopted(unit, seed, expires, 0)
				require.NoError(t, err)
				converted, denied = converted+c, denied+d
				if !found {
					_, _, err = runAdopted(unit, seed, expires, 1)
					found = err != nil
				}
			}
			require.Greater(t, converted, 500, unit)
			require.Greater(t, denied, 500, unit)
			require.True(t, found, "a limit that is higher by one is not noticed")
		}
	}
}
