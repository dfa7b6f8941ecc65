package zset

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// freezeTest changes a set at random and sometimes freezes it.
type freezeTest struct {
	set    *Set
	tree   bool
	frozen []*Set
	want   []string
}

func text(s *Set) string {
	out := fmt.Sprint(s.Len(), ":")
	s.Ascend(0, func(e Entry) bool {
		out += fmt.Sprint(" ", e.Member(), "=", e.Score)
		return true
	})
	return out
}

func (x *freezeTest) run(rng *rand.Rand, changes int) {
	for range changes {
		switch v := rng.Int64N(50_000); rng.IntN(30) {
		case 0:
			x.want = append(x.want, text(x.set))
			x.frozen = append(x.frozen, x.set.Freeze())
		case 1:
			at := rng.IntN(x.set.Len() + 1)
			x.set.RemoveByRank(at, at+rng.IntN(100))
		case 2:
			x.set.RemoveByRank(0, rng.IntN(100))
		case 3, 4, 5:
			x.set.RemoveByRank(rng.IntN(x.set.Len()+1), x.set.Len())
		case 6:
			if x.set.IsLog() && x.set.Len() > 0 {
				x.set.AppendRun(x.set.Newest()+1+v%100, int(v%50)+1)
			}
		default:
			for range 20 {
				v := rng.Int64N(50_000)
				if x.tree {
					x.set.Add(fmt.Appendf(nil, "m%d", v%3000), float64(v))
				} else {
					addNumber(x.set, v)
				}
			}
		}
	}
}

func (x *freezeTest) intact() (ok bool) {
	defer func() {
		if recover() != nil { // an entry was cleared
			ok = false
		}
	}()
	for i := range x.frozen {
		if text(x.frozen[i]) != x.want[i] {
			return false
		}
	}
	return true
}

func TestFrozenSetDoesNotChange(t *testing.T) {
	for _, tree := range []bool{false, true} {
		for seed := range uint64(race.Fewer(5)) {
			x := &freezeTest{set: &Set{}, tree: tree}
			x.run(rand.New(rand.NewPCG(seed, 20)), 400)
			require.NoError(t, x.set.check())
			require.NotEmpty(t, x.frozen)
			require.True(t, x.intact(), "tree %v, seed %d", tree, seed)
		}
	}
}

// The comparison must detect a missing unshare.
func TestMissingUnshareIsDetected(t *testing.T) {
	for _, tree := range []bool{false, true} {
		x := &freezeTest{set: &Set{}, tree: tree}
		rng := rand.New(rand.NewPCG(2, 20))
		for i := range int64(2000) {
			if tree {
				x.set.Add(fmt.Appendf(nil, "m%d", i), float64(i))
			} else {
				addNumber(x.set, i*100)
			}
		}
		x.want, x.frozen = []string{text(x.set)}, []*Set{x.set.Freeze()}
		if tree {
			for l := x.set.tree().front; l != nil; l = l.next {
				l.shared = false
			}
		} else {
			for i := range x.set.blocks().list {
				x.set.blocks().list[i].shared = false
			}
		}
		for range 300 {
			at := rng.IntN(x.set.Len())
			x.set.RemoveByRank(at, at+1)
		}
		require.False(t, x.intact(), "tree %v", tree)
	}
}

// Freezing copies a fraction of the set.
func TestFreezingCopiesAFraction(t *testing.T) {
	const n = 100_000
	log, tree := logOf(n), &Set{}
	for i := range n {
		tree.Add(fmt.Appendf(nil, "member:%d", i), float64(i))
	}
	require.LessOrEqual(t, testing.AllocsPerRun(1, func() { log.Freeze() }), 3.0)
	require.LessOrEqual(t, testing.AllocsPerRun(1, func() { tree.Freeze() }), 3.0)
}
