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

// A small tree is packed up to both limits, and never packed again.
func TestPackedLimits(t *testing.T) {
	long := strings.Repeat("x", packedBytes-1-2-1) // form, length and a score of one byte come first
	cases := []struct {
		name    string
		members []string
		kind    uint8
	}{
		{"one", []string{"a"}, kindPacked},
		{"most members", names(packedEntries), kindPacked},
		{"one more", names(packedEntries + 1), kindTree},
		{"longest member", []string{long}, kindPacked},
		{"one byte longer", []string{long + "x"}, kindTree},
		{"full, with an empty member", []string{long, ""}, kindTree},
		{
			"length of two bytes",
			[]string{strings.Repeat("a", 127), strings.Repeat("b", 128), "c"},
			kindPacked,
		},
		{"huge", []string{"a", strings.Repeat("x", 1<<20)}, kindTree},
	}
	for _, c := range cases {
		var s Set
		var m model
		for i, member := range c.members {
			s.Add([]byte(member), float64(-1-i))
			m.add(member, float64(-1-i))
			require.NoError(t, s.check(), c.name)
		}
		require.NoError(t, compare(&s, &m, rand.IntN), c.name)
		require.Equal(t, c.kind, s.kind, c.name)
		for i, member := range c.members { // a new score of the same size needs no space
			s.Add([]byte(member), float64(i/3+1))
			m.add(member, float64(i/3+1))
		}
		require.NoError(t, compare(&s, &m, rand.IntN), c.name)
		require.Equal(t, c.kind, s.kind, c.name)
		for s.Len() > 1 {
			s.RemoveByRank(0, 1)
			m.removeRanks(0, 1)
		}
		require.NoError(t, compare(&s, &m, rand.IntN), c.name)
		require.Equal(t, c.kind, s.kind, "%s: conversions are final", c.name)
	}
}

// A longer score may not fit.
func TestPackedLongerScoreDoesNotFit(t *testing.T) {
	var s Set
	var m model
	long := strings.Repeat("x", packedBytes-1-2-1)
	s.Add([]byte(long), 1)
	m.add(long, 1)
	require.Equal(t, uint8(kindPacked), s.kind)
	old, existed := s.Add([]byte(long), 1.5)
	m.add(long, 1.5)
	require.True(t, existed)
	require.Equal(t, 1.0, old)
	require.Equal(t, uint8(kindTree), s.kind)
	require.NoError(t, s.check())
	require.NoError(t, compare(&s, &m, rand.IntN))
}

// A member has one score only, whether it is encoded with its number as a prefix or in full.
func TestPackedMembersAndScores(t *testing.T) {
	members := []string{
		"17-a", "17", "17-", "17\x00", "17a", "170", "1", "1-17", "17-17", "-17-a", "-17", "-",
		"", "0", "-0", "0-0", "00", "017",
		"9007199254740992-x", "9007199254740993-x", "-9007199254740992", "1.5-x", "inf", "1e3", "1000",
	}
	scores := []float64{
		17, 1, -17, 0, math.Copysign(0, -1), 170, 1.5, 1000, math.Inf(1), math.Inf(-1),
		maxNumber, -maxNumber, maxNumber + 2, 5e-324,
	}
	for _, first := range []string{"17-a", "17", "x"} { // regular at first, and irregular
		var s Set
		var m model
		add := func(member string, score float64) {
			got, had := s.Add([]byte(member), score)
			want, held := m.add(member, score)
			require.Equal(t, held, had, "%q %v", member, score)
			require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%q %v", member, score)
			require.NoError(t, s.check(), "%q %v", member, score)
		}
		add(first, 17)
		for _, score := range scores {
			for _, member := range members {
				add(member, score)
				add(member, score)
			}
			require.NoError(t, compare(&s, &m, rand.IntN))
		}
		require.Equal(t, uint8(kindPacked), s.kind)
		for _, member := range members {
			want, held := m.remove(member)
			got, had := s.Remove([]byte(member))
			require.Equal(t, held, had)
			require.Equal(t, want, got)
			require.NoError(t, s.check())
			require.NoError(t, compare(&s, &m, rand.IntN))
		}
	}
}

// While leading numbers are the scores, appending does not search the other entries, however long the window.
func TestPackedRegular(t *testing.T) {
	p := new(packed)
	for i := range packedEntries {
		at := 1_700_000_000_000 + i/2
		_, existed, fits := p.add(fmt.Appendf(nil, "%d_%d", at, i), float64(at))
		require.False(t, existed)
		require.True(t, fits)
	}
	require.False(t, p.irregular)
	require.NoError(t, p.check())
	require.Less(t, len(p.data), 14*packedEntries)
	p.removeRanks(0, 1)
	p.data[0] = 0xff // must not be read
	_, existed, fits := p.add([]byte("1700000009999_1"), 1_700_000_009_999)
	require.False(t, existed)
	require.True(t, fits)
}

func names(n int) (members []string) {
	for i := range n {
		members = append(members, fmt.Sprint("m", i))
	}
	return members
}

// A log is converted to packed or, if it is too large, to a tree.
func TestLogConvertsToPackedOrTree(t *testing.T) {
	for units, kind := range map[int]uint8{
		0:                 kindPacked,
		1:                 kindPacked,
		packedEntries - 1: kindPacked,
		packedEntries:     kindTree,
		packedEntries + 1: kindTree,
		5000:              kindTree,
	} {
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

// longest, which OBJECT ENCODING needs, must survive conversions.
func TestLongestSurvivesConversion(t *testing.T) {
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
	members, scores := limiterMembers(10, false)
	sets := make([]*Set, 10_000)
	before := heapNow()
	for i := range sets {
		sets[i] = new(Set)
		for j, m := range members {
			sets[i].Add(m, scores[j])
		}
	}
	heap := float64(heapNow()-before) / float64(len(sets)*len(members))
	got := float64(sets[0].Memory()) / float64(len(members))
	t.Logf("%.1f bytes a member of 22 bytes, the runtime says %.1f", got, heap)
	require.InEpsilon(t, got, heap, 0.2)
	require.Less(t, heap, 30.0)
}

func TestTreeMemory(t *testing.T) {
	for _, n := range []int{200, 1_000, 50_000} {
		for _, shuffled := range []bool{false, true} {
			members, scores := limiterMembers(n, shuffled)
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
			got := float64(sets[0].Memory()) / float64(n)
			t.Logf("%d members of 22 bytes, shuffled %v: %.1f bytes each, the runtime says %.1f",
				n, shuffled, got, heap)
			require.InEpsilon(t, got, heap, 0.2)
			require.Less(t, heap, 125.0)
		}
	}
}

func TestPackedAllocations(t *testing.T) {
	members, scores := limiterMembers(packedEntries, true)
	var s Set
	for i, m := range members {
		s.Add(m, scores[i])
	}
	require.Equal(t, uint8(kindPacked), s.kind)
	i := 0
	ceiling := func(what string, fn func()) {
		t.Helper()
		require.Zero(t, testing.AllocsPerRun(100, func() { i = (i + 7) % len(members); fn() }), what)
	}
	ceiling("Score", func() { s.Score(members[i]) })
	ceiling("Rank", func() { s.Rank(members[i]) })
	ceiling("CountByScore", func() { s.CountByScore(ScoreRange{Min: scores[i], Max: math.Inf(1)}) })
	ceiling("Add changes the score", func() { s.Add(members[i], scores[(i+1)%len(scores)]) })
	ceiling("Remove and Add", func() { s.Remove(members[i]); s.Add(members[i], scores[i]) })
	ceiling("RemoveByRank and Add", func() {
		s.RemoveByRank(0, 1)
		for j, m := range members {
			s.Add(m, scores[j])
		}
	})
	require.NoError(t, s.check())
}
