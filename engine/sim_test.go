package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// askSim returns the reply of RL.SIM, -1 for null.
func askSim(t *testing.T, s *engine.Session, line string) map[string]int64 {
	t.Helper()
	reply := s.Do(args(line))
	f := reply.Elems()
	require.Len(t, f, 28, "%s: %s", line, show(reply))
	out := map[string]int64{}
	for i := 2; i < len(f); i += 2 {
		out[f[i].Str()] = -1
		if show(f[i+1]) != "(nil)" {
			out[f[i].Str()] = f[i+1].Int()
		}
	}
	return out
}

// A simCall is a call as the test has made it, with the answer.
type simCall struct{ atMs, cost, granted int64 }

// bruteForce replays calls on a list of hits: those of the last windowMs count. It knows no
// other limiter. It returns the reply's figures.
func bruteForce(calls []simCall, limit, windowMs int64) (admitted, denied, units, longestMs, never int64) {
	var hits []int64
	used := func(atMs int64) (n int64) {
		for _, hit := range hits {
			if hit > atMs-windowMs {
				n++
			}
		}
		return n
	}
	for _, c := range calls {
		if used(c.atMs)+c.cost <= limit {
			admitted++
			units += c.cost
			for range c.cost {
				hits = append(hits, c.atMs)
			}
			continue
		}
		denied++
		if c.cost > limit {
			never++
			continue
		}
		waitMs := int64(1)
		for used(c.atMs+waitMs)+c.cost > limit {
			waitMs++
		}
		longestMs = max(longestMs, waitMs)
	}
	return admitted, denied, units, longestMs, never
}

// TestSimAgainstBruteForce: what RL.SIM says of a trace under any limit is what a list of
// hits says.
func TestSimAgainstBruteForce(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		e, _, s := newServer(t)
		require.Equal(t, "OK", do(s, "RL.TRACE ON k 400"))
		var calls []simCall
		atMs := int64(startNowMs)
		for range 400 {
			atMs += r.Int64N(30)
			require.NoError(t, e.Clock().Set(atMs))
			c := simCall{atMs, 1 + r.Int64N(3), 0}
			c.granted = s.Do(args(fmt.Sprintf("RL.ALLOW k 20 300 COST %d", c.cost))).Elems()[0].Int()
			if r.IntN(4) == 0 {
				do(s, "RL.ALLOW k 20 300 PEEK") // not traced
			}
			calls = append(calls, c)
		}
		for range 20 {
			last := calls[r.IntN(len(calls)):]
			limit, windowMs := 1+r.Int64N(40), 1+r.Int64N(600)
			admitted, denied, units, longestMs, never := bruteForce(last, limit, windowMs)
			changed, wasAdmitted := int64(0), int64(0)
			for _, c := range last {
				if c.granted > 0 {
					wasAdmitted++
				}
			}
			a := askSim(t, s, fmt.Sprintf("RL.SIM k %d %d FROM TRACE %d", limit, windowMs, len(last)))
			changed = a["changed"]
			require.Equal(t, map[string]int64{
				"calls": int64(len(last)), "lost": int64(len(calls) - len(last)), "from_empty": 1,
				"first_ms": last[0].atMs, "last_ms": atMs,
				"admitted": admitted, "denied": denied, "units": units,
				"longest_wait_ms": longestMs, "never": never, "was_admitted": wasAdmitted,
				"was_denied": int64(len(last)) - wasAdmitted, "changed": changed,
			}, a, "seed %d: limit %d, window %d, last %d", seed, limit, windowMs, len(last))
		}

		// The key holds the hits of the window only, and no call that was denied.
		var held []simCall
		for _, c := range calls {
			if c.granted > 0 {
				held = append(held, c)
			}
		}
		hits := askSim(t, s, "RL.SIM k 1000 1h FROM KEY 10000")["calls"]
		require.GreaterOrEqual(t, int64(len(held)), hits)
		held = held[int64(len(held))-hits:]
		for range 10 {
			n := 1 + r.IntN(len(held))
			limit, windowMs := 1+r.Int64N(20), 1+r.Int64N(300)
			admitted, denied, units, longestMs, _ := bruteForce(held[len(held)-n:], limit, windowMs)
			a := askSim(t, s, fmt.Sprintf("RL.SIM k %d %d FROM KEY %d", limit, windowMs, n))
			require.Equal(t,
				[]int64{int64(n), hits - int64(n), admitted, denied, units, longestMs, denied, -1},
				[]int64{
					a["calls"], a["lost"], a["admitted"], a["denied"], a["units"], a["longest_wait_ms"],
					a["changed"], a["was_denied"],
				}, "seed %d: limit %d, window %d, last %d hits", seed, limit, windowMs, n)
		}
	}
}

// TestBruteForceFinds checks that the comparison above can fail, at the border of a
// window.
func TestBruteForceFinds(t *testing.T) {
	calls := []simCall{{0, 1, 1}, {9, 1, 1}, {10, 1, 1}}
	admitted, denied, units, longestMs, never := bruteForce(calls, 1, 10)
	require.Equal(t, []int64{2, 1, 2, 1, 0}, []int64{admitted, denied, units, longestMs, never})
	admitted, denied, _, longestMs, _ = bruteForce(calls, 1, 11)
	require.Equal(t, []int64{1, 2, 2}, []int64{admitted, denied, longestMs})
}

// TestSimRepeats: under the same limit and algorithm a trace that began with an empty key
// gets the answers that it got. In half of the runs the clock goes back; then there are no
// peeks, which are not in the trace but remove a key that has expired.
func TestSimRepeats(t *testing.T) {
	race.OneGoroutine(t)
	for _, rule := range []string{
		"5 100", "5 100 12 1000", "3 1s", "700 1s", "5 100 ALGO FIXED", "5 100 ALGO GCRA 4",
		"5 100 ALGO BUCKETS 7", "5 100 ALGO COUNTER", "1 60s ALGO COUNTER", "9 1s ALGO BUCKETS 1",
	} {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 5))
			e, _, s := newServer(t)
			require.Equal(t, "OK", do(s, "RL.TRACE ON k 10000"))
			nowMs, admitted, denied := int64(startNowMs), int64(0), int64(0)
			for range 600 {
				switch r.IntN(30) {
				case 0:
					if seed%2 == 0 {
						nowMs -= r.Int64N(200)
					}
				case 1:
					nowMs += r.Int64N(3000)
				default:
					nowMs += r.Int64N(30)
				}
				require.NoError(t, e.Clock().Set(nowMs))
				line := fmt.Sprintf("RL.ALLOW k %s COST %d", rule, int64(1-seed%2)+r.Int64N(7))
				if r.IntN(3) == 0 {
					line += " ATMOST"
				}
				reply := s.Do(args(line))
				require.False(t, reply.IsError(), "%s: %s", line, show(reply))
				switch granted := reply.Elems()[0].Int(); {
				case strings.Contains(line, "COST 0"):
				case granted > 0:
					admitted++
				default:
					denied++
				}
			}
			require.Positive(t, admitted)
			require.Positive(t, denied+admitted)
			a := askSim(t, s, fmt.Sprintf("RL.SIM k %s FROM TRACE 10000", rule))
			require.Equal(t, []int64{0, admitted, denied, admitted, denied, 1},
				[]int64{
					a["changed"], a["admitted"], a["denied"], a["was_admitted"], a["was_denied"],
					a["from_empty"],
				}, "%s, seed %d", rule, seed)
			if other := askSim(t, s, "RL.SIM k 1 1h FROM TRACE 10000"); admitted > 1 {
				require.Positive(t, other["changed"], "another rule: the comparison can fail")
			}
		}
	}
}
