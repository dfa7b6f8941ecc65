package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
)

// An alike has both sides of the rows of terms on one server, whose clock stands still between calls.
type alike struct {
	t       *testing.T
	limits  *zlimit.Limiter
	decided [2]int // calls that both denied, and admitted
}

func newAlike(t *testing.T) *alike {
	a := &alike{t: t, limits: zlimit.New(zlimit.Options{})}
	t.Cleanup(func() { require.NoError(t, a.limits.Close()) })
	a.limits.Engine().Clock().Freeze()
	for _, source := range scripts {
		require.Equal(t, shaOf(source), a.do("SCRIPT LOAD", source))
	}
	return a
}

// do sends words, and the other arguments as they are.
func (a *alike) do(words string, more ...any) any {
	var args []any
	for _, word := range strings.Fields(words) {
		args = append(args, word)
	}
	reply, err := a.limits.Do(a.t.Context(), append(args, more...)...)
	require.NoError(a.t, err, words)
	return reply
}

func (a *alike) nowMs() int64 {
	us, _ := a.limits.Engine().Clock().Read()
	return us / 1000
}

// both requires that ours, whose verdict is the second element of an array, and the script say the same.
func (a *alike) both(ours, script string) (admitted bool) {
	reply := a.do(ours)
	granted := reply.([]any)[1].(int64)
	verdict := a.do(script).(int64)
	require.Equal(a.t, granted > 0, verdict > 0, "%s: %v; %s", ours, reply, script)
	a.decided[verdict]++
	return verdict > 0
}

// names returns three keys with a hash tag.
func names(tag string) string {
	var keys []string
	for i := range 3 {
		keys = append(keys, fmt.Sprintf("{%s}:%d", tag, i))
	}
	return strings.Join(keys, " ")
}

// TestHoldsDecideAsTheScripts sends holds and the scripts of counters calls of random costs within one
// window. Some are not settled.
func TestHoldsDecideAsTheScripts(t *testing.T) {
	type work struct {
		id        int
		estimates [2]int
	}
	a, r := newAlike(t), rand.New(rand.NewPCG(2, 2))
	for round := range 60 {
		ours, script := names(fmt.Sprint("ours", round)), names(fmt.Sprint("script", round))
		var open []work
		for id := range 60 {
			w := work{id, [2]int{1 + r.IntN(900), 1 + r.IntN(4)}}
			if a.both(fmt.Sprintf("RL.MRESERVE 3 %s TERM 9000 3600000 COST %d TERM 60 3600000 COST %d TERM "+
				"SLOTS 5 LEASE 60000 HOLD 60000 ID %d", ours, w.estimates[0], w.estimates[1], id),
				fmt.Sprintf("EVALSHA %s 3 %s %d 60000 5 %d 9000 3600000 %d 60 3600000 %d", shaOf(takeScript),
					script, a.nowMs(), id, w.estimates[0], w.estimates[1])) {
				open = append(open, w)
			}
			if len(open) == 0 || r.IntN(4) == 0 {
				continue
			}
			i := r.IntN(len(open))
			w = open[i]
			open = slices.Delete(open, i, i+1)
			actuals := [2]int{r.IntN(1000), r.IntN(5)}
			a.do(fmt.Sprintf("RL.MSETTLE 3 %s %d %d %d 0", ours, w.id, actuals[0], actuals[1]))
			a.do(fmt.Sprintf("EVALSHA %s 3 %s %d %d %d", shaOf(correctScript), script, w.id,
				actuals[0]-w.estimates[0], actuals[1]-w.estimates[1]))
		}
	}
	require.Greater(t, min(a.decided[0], a.decided[1]), 200)
}
