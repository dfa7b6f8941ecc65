package zset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A small tree is packed up to both of its bounds, and unpacked for good.
func TestPackedBorders(t *testing.T) {
	long := strings.Repeat("x", packedBytes-8-2)
	cases := []struct {
		name    string
		members []string
		kind    uint8
	}{
		{"one", []string{"a"}, kindPacked},
		{"as many as it takes", names(packedEntries), kindPacked},
		{"one more", names(packedEntries + 1), kindTree},
		{"as long as it takes", []string{long}, kindPacked},
		{"one byte longer", []string{long + "x"}, kindTree},
		{"full, with an empty member", []string{long, ""}, kindTree},
		{"length of two bytes", []string{strings.Repeat("a", 127), strings.Repeat("b", 128), "c"}, kindPacked},
		{"huge", []string{"a", strings.Repeat("x", 1<<20)}, kindTree},
	}
	for _, c := range cases {
		var s Set
		var m model
		for i, member := range c.members {
			s.Add([]byte(member), float64(-i))
			m.add(member, float64(-i))
			require.NoError(t, s.check(), c.name)
		}
		require.NoError(t, compare(&s, &m, rand.IntN), c.name)
		require.Equal(t, c.kind, s.kind, c.name)
		for i, member := range c.members { // re-scoring needs no room
			s.Add([]byte(member), float64(i)+0.5)
			m.add(member, float64(i)+0.5)
		}
		require.NoError(t, compare(&s, &m, rand.IntN), c.name)
		require.Equal(t, c.kind, s.kind, c.name)
		for s.Len() > 1 {
			s.RemoveByRank(0, 1)
			m.removeRanks(0, 1)
		}
		require.NoError(t, compare(&s, &m, rand.IntN), c.name)
		require.Equal(t, c.kind, s.kind, "%s: nothing moves back", c.name)
	}
}

func names(n int) (members []string) {
	for i := range n {
		members = append(members, fmt.Sprint("m", i))
	}
	return members
}

// From a log to packed or past it.
func TestLogIntoPackedOrTree(t *testing.T) {
	for units, kind := range map[int]uint8{0: kindPacked, 1: kindPacked, packedEntries - 1: kindPacked, packedEntries: kindTree, packedEntries + 1: kindTree, 5000: kindTree} {
		var s Set
		var m model
		for i := range int64(units) {
			addNumber(&s, i*gap)
			m.add(decimal(i*gap), float64(i*gap))
		}
		s.Add([]byte("x"), 0)
		m.add("x", 0)
		require.Equal(t, kind, s.kind, "%d units", units)
		require.NoError(t, s.check())
		require.NoError(t, compare(&s, &m, rand.IntN))
	}
}

// What OBJECT ENCODING needs outlives the moves in between.
func TestLongestOutlivesUnpacking(t *testing.T) {
	var s Set
	s.Add([]byte(strings.Repeat("x", 65)), 1)
	for _, m := range names(packedEntries) {
		s.Add([]byte(m), 1)
	}
	require.Equal(t, uint8(kindTree), s.kind)
	s.NoteEncoding(128, 64)
	require.False(t, s.IsListpack())
}

func TestPackedMemory(t *testing.T) {
	members, scores := hitMembers(10, false)
	sets := make([]*Set, 10_000)
	before := heapNow()
	for i := range sets {
		sets[i] = new(Set)
		for j, m := range members {
			sets[i].Add(m, scores[j])
		}
	}
	heap := float64(heapNow()-before) / float64(len(sets)*len(members))
	got := float64(sets[0].Bytes()) / float64(len(members))
	t.Logf("%.1f bytes a member of 22 bytes, the runtime says %.1f", got, heap)
	require.InEpsilon(t, got, heap, 0.2)
	require.Less(t, heap, 50.0)
}

func TestTreeMemory(t *testing.T) {
	for _, n := range []int{100, 1_000, 50_000} {
		for _, shuffled := range []bool{false, true} {
			members, scores := hitMembers(n, shuffled)
			sets := make([]*Set, max(1, 50_000/n))
			before := heapNow()
			for i := range sets {
				sets[i] = new(Set)
				for j, m := range members {
					sets[i].Add(m, scores[j])
				}
			}
			heap := float64(heapNow()-before) / float64(len(sets)*n)
			runtime.KeepAlive(members)
			got := float64(sets[0].Bytes()) / float64(n)
			t.Logf("%d members of 22 bytes, shuffled %v: %.1f bytes each, the runtime says %.1f", n, shuffled, got, heap)
			require.InEpsilon(t, got, heap, 0.2)
			require.Less(t, heap, 125.0)
		}
	}
}

func TestPackedAllocations(t *testing.T) {
	members, scores := hitMembers(packedEntries, true)
	var s Set
	for i, m := range members {
		s.Add(m, scores[i])
	}
	require.Equal(t, uint8(kindPacked), s.kind)
	i := 0
	ceiling := func(what string, fn func()) {
		t.Helper()
		require.Zero(t, testing.AllocsPerRun(500, func() { i = (i + 7) % len(members); fn() }), what)
	}
	ceiling("Score", func() { s.Score(members[i]) })
	ceiling("Rank", func() { s.Rank(members[i]) })
	ceiling("CountByScore", func() { s.CountByScore(ScoreRange{Min: scores[i], Max: math.Inf(1)}) })
	ceiling("Add re-scores", func() { s.Add(members[i], scores[(i+1)%len(scores)]) })
	ceiling("Remove and Add", func() { s.Remove(members[i]); s.Add(members[i], scores[i]) })
	ceiling("RemoveByRank and Add", func() {
		s.RemoveByRank(0, 1)
		for j, m := range members {
			s.Add(m, scores[j])
		}
	})
	require.NoError(t, s.check())
}
