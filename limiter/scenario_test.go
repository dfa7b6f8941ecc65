package limiter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line of a scenario is a call of a cost, t ms after the start (the clock may step
// back), and the five numbers of its answer.
type line struct {
	t, cost                              int64
	allowed, remaining, retryMs, resetMs int64
}

func TestScenarios(t *testing.T) {
	const startMs = 1_700_000_000_000
	for _, s := range []struct {
		name  string
		quota Quota
		lines []line
	}{
		{"a window fills, denies, and slides", per(3, 1000), []line{
			{0, 1, 1, 2, 0, 1000},
			{200, 1, 1, 1, 0, 1000},
			{200, 1, 1, 0, 0, 1000},
			{300, 1, 0, 0, 700, 900},
			{999, 1, 0, 0, 1, 201},
			{1000, 1, 1, 0, 0, 1000},
			{1000, 1, 0, 0, 200, 1000},
			{1200, 2, 2, 0, 0, 1000},
			{5000, 1, 1, 2, 0, 1000},
		}},
		{"cost 0 looks and leaves all as it is", per(2, 1000), []line{
			{0, 0, 1, 2, 0, 0},
			{0, 2, 2, 0, 0, 1000},
			{400, 0, 0, 0, 600, 600},
			{400, 0, 0, 0, 600, 600},
			{1000, 0, 1, 2, 0, 0},
		}},
		{"a large cost waits for the oldest that make room", per(5, 1000), []line{
			{0, 1, 1, 4, 0, 1000},
			{100, 2, 2, 2, 0, 1000},
			{300, 2, 2, 0, 0, 1000},
			{400, 1, 0, 0, 600, 900},
			{400, 2, 0, 0, 700, 900},
			{400, 3, 0, 0, 700, 900},
			{400, 4, 0, 0, 900, 900},
			{400, 5, 0, 0, 900, 900},
			{400, 6, 0, 0, -1, 900},
			{1100, 3, 3, 0, 0, 1000},
		}},
		{"a cost above the limit never fits", per(5, 1000), []line{
			{0, 6, 0, 5, -1, 0},
			{0, 1, 1, 4, 0, 1000},
			{10, 1_000_001, 0, 4, -1, 990},
		}},
		{"a denied call does not delay", per(1, 100), []line{
			{0, 1, 1, 0, 0, 100},
			{50, 1, 0, 0, 50, 50},
			{99, 1, 0, 0, 1, 1},
			{100, 1, 1, 0, 0, 100},
		}},
		{"the shortest window", per(2, 1), []line{
			{0, 1, 1, 1, 0, 1},
			{0, 1, 1, 0, 0, 1},
			{0, 1, 0, 0, 1, 1},
			{1, 2, 2, 0, 0, 1},
		}},
		{"the clock steps back: nothing is freed, the wait grows by the step", per(2, 1000), []line{
			{5000, 2, 2, 0, 0, 1000},
			{4000, 1, 0, 0, 2000, 2000},
			{-90_000, 1, 0, 0, 96_000, 96_000},
			{5999, 1, 0, 0, 1, 1},
			{6000, 1, 1, 1, 0, 1000},
		}},
		{"units admitted after a step back stand behind the newest", per(2, 1000), []line{
			{5000, 1, 1, 1, 0, 1000},
			{4000, 1, 1, 0, 0, 2000},
			{5999, 1, 0, 0, 1, 1},
			{6000, 2, 2, 0, 0, 1000},
		}},
		{"the clock steps forward: a step of d frees what d of waiting frees", per(2, 1000), []line{
			{0, 1, 1, 1, 0, 1000},
			{400, 1, 1, 0, 0, 1000},
			{1399, 1, 1, 0, 0, 1000},
			{900_000, 2, 2, 0, 0, 1000},
			{900_000, 1, 0, 0, 1000, 1000},
		}},
		{"a thousand units of one instant leave together", per(1000, 500), []line{
			{0, 400, 400, 600, 0, 500},
			{0, 600, 600, 0, 0, 500},
			{499, 1, 0, 0, 1, 1},
			{500, 1000, 1000, 0, 0, 500},
		}},
		{"the units of a call leave together", per(2500, 500), []line{
			{0, 2499, 2499, 1, 0, 500},
			{1, 1, 1, 0, 0, 500},
			{499, 1, 0, 0, 1, 2},
			{500, 2500, 0, 2499, 1, 1},
			{500, 2499, 2499, 0, 0, 500},
			{501, 1, 1, 0, 0, 500},
			{501, 1, 0, 0, 499, 500},
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := &world{decide: Decide}
			for i, l := range s.lines {
				d := w.call(t, startMs+l.t, []Quota{s.quota}, l.cost)
				got := line{l.t, l.cost, d.Allowed, d.Remaining, d.RetryAfterMs, d.ResetAfterMs}
				require.Equal(t, l, got, "line %d", i+1)
				require.Equal(t, s.quota.Limit, d.Limit)
			}
		})
	}
}

func TestBindingQuota(t *testing.T) {
	const now = 1_700_000_000_000
	second, minute := per(2, 1000), per(3, 60_000)
	w := &world{decide: Decide}
	both := []Quota{second, minute}
	five := func(d Decision) string {
		return fmt.Sprint(d.Allowed, d.Limit, d.Remaining, d.RetryAfterMs, d.ResetAfterMs)
	}
	// The least remaining; among equals the first named.
	require.Equal(t, "1 2 1 0 1000", five(w.call(t, now, both, 1)))
	require.Equal(t, "1 2 0 0 1000", five(w.call(t, now+100, both, 1)))
	// The longest wait: only the second is full, then both, then only the minute.
	require.Equal(t, "0 2 0 800 900", five(w.call(t, now+200, both, 1)))
	require.Equal(t, "0 3 1 59800 59900", five(w.call(t, now+200, both, 2)))
	require.Equal(t, "1 2 0 0 1000", five(w.call(t, now+1000, both, 1)))
	require.Equal(t, "0 3 0 58900 59900", five(w.call(t, now+1100, both, 1)))
	// A cost that never fits beats any wait.
	require.Equal(t, "0 2 1 -1 900", five(w.call(t, now+1100, []Quota{minute, second}, 3)))
	// Two that never fit: the least remaining, then the first named.
	require.Equal(t, "0 3 0 -1 59900", five(w.call(t, now+1100, both, 9)))
	require.Equal(t, "0 2 2 -1 0", five(w.call(t, now+2000, []Quota{second, per(2, 500)}, 9)))
	// The first named wins a tie.
	fresh := &world{decide: Decide}
	require.Equal(t, "1 2 1 0 1000", five(fresh.clone().call(t, now, []Quota{second, per(2, 500)}, 1)))
	require.Equal(t, "1 2 1 0 500", five(fresh.clone().call(t, now, []Quota{per(2, 500), second}, 1)))
}
