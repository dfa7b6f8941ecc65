package zset

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The memory of logs has ceilings, according to Bytes and, for many sets at once, to the runtime.
func TestLogMemory(t *testing.T) {
	require.Equal(t, uintptr(24), unsafe.Sizeof(Set{}))
	one := new(Set)
	one.AppendRun(1_700_000_000_000_000, 1)
	require.Equal(t, int64(24), one.Memory())
	for _, c := range []struct {
		n          int
		bytesAUnit float64
	}{{10, 8}, {100, 12}, {1_000, 4}, {10_000, 4}, {1_000_000, 4}} {
		s := logOf(c.n)
		got := float64(s.Memory()) / float64(c.n)
		t.Logf("%d units: %.2f bytes a unit", c.n, got)
		require.LessOrEqual(t, got, c.bytesAUnit, "%d units", c.n)
		sets := make([]*Set, max(1, 100_000/c.n))
		before := heapNow()
		for i := range sets {
			sets[i] = logOf(c.n)
		}
		heap := float64(heapNow()-before) / float64(len(sets)*c.n)
		runtime.KeepAlive(sets)
		require.InEpsilon(t, got, heap, 0.2, "%d units: the runtime says %.2f bytes a unit", c.n, heap)
	}
	var run Set
	run.AppendRun(1_700_000_000_000_000, 1_000_000)
	require.LessOrEqual(t, run.Memory(), int64(64))
}

// Scattered changes must not leave many small blocks, and an expired window must release its memory.
func TestLogMemoryAfterChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	s := logOf(20_000)
	for s.Len() > 2_000 {
		r := rng.IntN(s.Len())
		s.RemoveByRank(r, r+1)
	}
	require.NoError(t, s.check())
	require.Less(t, float64(s.Memory())/2_000, 8.0)

	var late Set
	for _, i := range rng.Perm(20_000) {
		addNumber(&late, 1_700_000_000_000_000+int64(i)*gap)
	}
	require.NoError(t, late.check())
	require.Less(t, float64(late.Memory())/20_000, 5.0)

	s = logOf(200_000)
	s.DropThrough(s.UnitAt(s.Units() - 300))
	require.Less(t, s.Memory(), int64(6_000))
	s.DropThrough(s.UnitAt(s.Units() - 3))
	require.Less(t, s.Memory(), int64(120))
}

func TestLogAllocations(t *testing.T) {
	for _, n := range []int{1, 10, 1_000, 100_000} {
		s := logOf(n)
		member := func(v int64, b *[20]byte) []byte { return numberEntry(v).AppendMember(b[:0]) }
		ceiling := func(what string, fn func()) {
			t.Helper()
			require.Zero(t, testing.AllocsPerRun(2000, fn), "%s of %d", what, n)
		}
		i := 0
		ceiling("Score", func() {
			var b [20]byte
			i = (i + 7919) % s.Len()
			s.Score(member(s.UnitAt(int64(i)), &b))
			s.Score([]byte("none"))
		})
		ceiling("Rank", func() { var b [20]byte; s.Rank(member(s.Newest(), &b)) })
		ceiling("UnitsAfter", func() { s.UnitsAfter(s.Oldest() + (s.Newest()-s.Oldest())/2) })
		ceiling("RankRangeByScore", func() {
			s.RankRangeByScore(ScoreRange{float64(s.Oldest()), math.Inf(1), true, false})
		})
		ceiling("Add and RemoveByScore", func() {
			var b [20]byte
			v := s.Newest() + gap
			s.Add(member(v, &b), float64(v))
			s.RemoveByScore(ScoreRange{Min: math.Inf(-1), Max: float64(s.Oldest())})
		})
		ceiling("AppendRun and DropThrough", func() {
			s.AppendRun(s.Newest()+gap, 1)
			s.DropThrough(s.Oldest())
		})
		ceiling("Ascend", func() {
			left := 10
			s.Ascend(0, func(Entry) bool { left--; return left > 0 })
		})
		ceiling("Descend", func() {
			left := 10
			s.Descend(s.Len()-1, func(Entry) bool { left--; return left > 0 })
		})
		require.NoError(t, s.check())
	}
}

func TestTreeAllocations(t *testing.T) {
	members, scores := limiterMembers(10_000, true)
	var s Set
	for i, m := range members {
		s.Add(m, scores[i])
	}
	i := 0
	ceiling := func(what string, most float64, fn func()) {
		t.Helper()
		got := testing.AllocsPerRun(1000, func() { i = (i + 7919) % len(members); fn() })
		require.LessOrEqual(t, got, most, what)
	}
	ceiling("Score", 0, func() { s.Score(members[i]) })
	ceiling("Rank", 0, func() { s.Rank(members[i]) })
	ceiling("At", 0, func() { s.At(i) })
	ceiling("ScoreAt", 0, func() { s.ScoreAt(i) })
	ceiling("CountByScore", 0, func() { s.CountByScore(ScoreRange{Min: scores[i], Max: math.Inf(1)}) })
	ceiling("Add again", 0, func() { s.Add(members[i], scores[i]) })
	ceiling("Add changes the score", 0, func() { s.Add(members[i], scores[(i+1)%len(scores)]) })
	ceiling("Remove and Add", 2, func() { s.Remove(members[i]); s.Add(members[i], scores[i]) })
	require.NoError(t, s.check())
}
