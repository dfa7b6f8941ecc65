package upstream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// decisionItem returns the item of a call of RL.ALLOW.
func decisionItem(t *testing.T, line string) *item {
	t.Helper()
	var args [][]byte
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	row := slices.IndexFunc(rl.Commands,
		func(c commands.Command) bool { return c.Name == "rl.allow" })
	k, refusal := ratelimit.Parse(&commands.Ctx{
		Args: args, Cmd: &rl.Commands[row],
		Scope: commands.Scope{Settings: &commands.Settings{RLLogMaxUnits: limiter.DefaultMaxEntries}},
	})
	require.False(t, refusal.IsError())
	return &item{args: k.AppendFCall(nil), decision: k}
}

func jobOf(items ...*item) *job {
	j := &job{items: items}
	for _, it := range items {
		if it.decision != nil {
			j.decisions++
		}
	}
	return j
}

// outOfOrder returns a pair of commands of one job about one key that do not run in their order, ""
// if there is none.
func outOfOrder(jobs []*job, items []*item, groups []*combined) string {
	at := make(map[*item][2]int) // where it is sent, and its place there
	for i, it := range items {
		at[it] = [2]int{i, 0}
	}
	for _, g := range groups {
		for i, it := range g.items {
			at[it] = [2]int{g.at, i}
		}
	}
	for _, j := range jobs {
		for later, b := range j.items {
			for _, a := range j.items[:later] {
				decided := a.decision != nil && b.decision != nil
				if decided && string(a.decision.Keys()[0]) != string(b.decision.Keys()[0]) {
					continue
				}
				if x, y := at[a], at[b]; x[0] > y[0] || x[0] == y[0] && x[1] >= y[1] {
					return fmt.Sprintf("%s before %s: %v, %v", a.args, b.args, x, y)
				}
			}
		}
	}
	return ""
}

func TestCombineKeepsTheOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var jobs []*job
		sent := 0
		for range 1 + r.IntN(12) {
			var items []*item
			for range 1 + r.IntN(5) {
				sent++
				if r.IntN(3) == 0 {
					items = append(items, &item{args: [][]byte{[]byte("DEL"), []byte("a")}})
					continue
				}
				items = append(items, decisionItem(t, fmt.Sprintf("RL.ALLOW %c %d 1s COST %d",
					"ab"[r.IntN(2)],
					1+r.IntN(2), 1+r.IntN(4000))))
			}
			jobs = append(jobs, jobOf(items...))
		}
		items, groups := combine(jobs)
		require.Empty(t, outOfOrder(jobs, items, groups), "seed %d", seed)
		for _, g := range groups {
			require.Less(t, 1, len(g.calls))
			sent -= len(g.calls) - 1
		}
		require.Len(t, items, sent, "seed %d", seed)
	}
}

// TestOutOfOrder shows that the check can fail.
func TestOutOfOrder(t *testing.T) {
	allow := func() *item { return decisionItem(t, "RL.ALLOW a 1 1s") }
	other := &item{args: [][]byte{[]byte("DEL"), []byte("a")}}
	first, last := allow(), allow()
	jobs := []*job{jobOf(first, other, last)}
	require.Empty(t, outOfOrder(jobs, []*item{first, other, last}, nil))
	require.NotEmpty(t, outOfOrder(jobs, []*item{other, first, last}, nil))
	both := &combined{items: []*item{first, last}, calls: make([]*ratelimit.Call, 2)}
	require.NotEmpty(t, outOfOrder(jobs, []*item{{}, other}, []*combined{both}))

	items, groups := combine(jobs)
	require.Len(t, items, 3)
	require.Empty(t, groups)
	items, groups = combine([]*job{jobOf(first), jobOf(other), jobOf(last)})
	require.Len(t, items, 2, "callers that wait side by side have no order")
	require.Len(t, groups, 1)
}
