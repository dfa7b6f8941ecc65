package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// A call of RL.ALLOW as its client saw it. started and ended are readings of one counter,
// so a call that ended before another started has a smaller number.
type call struct {
	started, ended int64
	allowed        bool
	remaining      int64
}

// linearizable reports whether calls of cost 1 on one key at one instant can have run one
// after the other, each at some moment between its start and its end. The state is a
// number, so the remaining count of an admitted call is its position, and denied calls
// come last. It is enough that no call ended before an earlier one started.
func linearizable(history []call, limit int64) error {
	var admitted, order []call
	for _, c := range history {
		if c.allowed {
			admitted = append(admitted, c)
		}
	}
	slices.SortFunc(admitted, func(a, b call) int { return cmp.Compare(b.remaining, a.remaining) })
	for i, c := range admitted {
		if c.remaining != limit-1-int64(i) {
			return fmt.Errorf("admission %d left %d of %d", i+1, c.remaining, limit)
		}
	}
	order = admitted
	for _, c := range history {
		if !c.allowed {
			if int64(len(admitted)) != limit || c.remaining != 0 {
				return fmt.Errorf("denied with %d admitted of %d and %d left", len(admitted), limit,
					c.remaining)
			}
			order = append(order, c)
		}
	}
	latestStart := int64(-1)
	for i, c := range order {
		if c.ended < latestStart {
			return fmt.Errorf("call %d %+v had ended before an earlier one started at %d", i, c, latestStart)
		}
		if c.allowed { // denied calls change nothing: their order is free
			latestStart = max(latestStart, c.started)
		}
	}
	return nil
}

func TestRLAllowIsLinearizable(t *testing.T) {
	const limit = 300
	e, _ := newEngine(t)
	var (
		now     atomic.Int64
		mu      sync.Mutex
		history []call
	)
	together(t, e, 8, func(s *engine.Session, _ int) error {
		var mine []call
		for range 60 {
			c := call{started: now.Add(1)}
			reply, err := numbers(do(s, fmt.Sprintf("RL.ALLOW k %d 1h", limit)))
			c.ended = now.Add(1)
			if err != nil || len(reply) != 5 {
				return fmt.Errorf("%v %w", reply, err)
			}
			c.allowed, c.remaining = reply[0] == 1, reply[2]
			mine = append(mine, c)
		}
		mu.Lock()
		defer mu.Unlock()
		history = append(history, mine...)
		return nil
	})
	require.Len(t, history, 480)
	require.NoError(t, linearizable(history, limit))
}

// TestLinearizableFinds checks that the checker refuses impossible histories.
func TestLinearizableFinds(t *testing.T) {
	good := []call{{1, 4, true, 1}, {2, 3, true, 0}, {5, 6, false, 0}}
	require.NoError(t, linearizable(good, 2))
	require.NoError(t, linearizable([]call{{1, 2, true, 1}}, 2))
	for name, bad := range map[string][]call{
		"one too many":                  {{1, 2, true, 1}, {3, 4, true, 0}, {5, 6, true, 0}},
		"one place taken twice":         {{1, 4, true, 1}, {2, 3, true, 1}},
		"a place left out":              {{1, 2, true, 0}},
		"denied with room":              {{1, 2, true, 1}, {3, 4, false, 0}},
		"denied before the last place":  {{1, 2, true, 1}, {3, 4, false, 0}, {5, 6, true, 0}},
		"against the order of the time": {{1, 2, true, 0}, {3, 4, true, 1}},
	} {
		require.Error(t, linearizable(bad, 2), name)
	}
}
