package zset

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// scanHistory scans a set while other members are added and removed, and returns how many of the members that
// were in the set throughout it did not see. If leave is set, the set leaves the log on the way.
func scanHistory(
	s *Set, rng *rand.Rand, leave bool, scan func(s *Set, cursor uint64, fn func(Entry)) uint64,
) (missed int, err error) {
	stay, seen := map[string]bool{}, map[string]bool{}
	for range 1000 {
		v := rng.Int64N(1<<40) * 2
		addNumber(s, v)
		stay[decimal(v)] = true
	}
	cursor := uint64(0)
	for calls := 0; ; calls++ {
		if calls > 100_000 {
			return 0, fmt.Errorf("scan does not end")
		}
		if cursor = scan(s, cursor, func(e Entry) { seen[e.Member()] = true }); cursor == 0 {
			break
		}
		// In waves, so that the table grows and shrinks, but ends
		for range rng.IntN(20) {
			if calls/100%2 == 0 && s.Len() < 3000 {
				addNumber(s, rng.Int64N(1<<40)*2+1)
				continue
			}
			r := rng.IntN(s.Len())
			if e := s.At(r); !stay[e.Member()] {
				if s.ScoreAt(r) != e.Score {
					panic("two scores of one rank")
				}
				s.RemoveByRank(r, r+1)
			}
		}
		if leave && calls == 2 {
			s.Add([]byte("a name"), 1)
		}
		if !s.IsLog() { // a member whose score changes must be seen
			e := s.At(rng.IntN(s.Len()))
			s.Add([]byte(e.Member()), rng.Float64())
		}
	}
	for m := range stay {
		if !seen[m] {
			missed++
		}
	}
	return missed, nil
}

func TestScanGuarantee(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range race.Fewer(5) {
		for _, c := range []string{"log", "tree", "conversion"} {
			var s Set
			if c == "tree" {
				s.Add([]byte("a name"), 1)
			}
			missed, err := scanHistory(&s, rng, c == "conversion", (*Set).Scan)
			require.NoError(t, err, c)
			require.Zero(t, missed, c)
		}
	}
}

// scanHistory must detect the faults of a scan by rank.
func TestScanGuaranteeDetectsFaults(t *testing.T) {
	byRank := func(s *Set, cursor uint64, fn func(Entry)) (next uint64) {
		n := 0
		s.Ascend(int(cursor), func(e Entry) bool {
			fn(e)
			n++
			return n < 20
		})
		if next = cursor + uint64(n); next >= uint64(s.Len()) {
			return 0
		}
		return next
	}
	var s Set
	missed, err := scanHistory(&s, rand.New(rand.NewPCG(1, 1)), true, byRank)
	require.NoError(t, err)
	require.Positive(t, missed)
}

func TestScanAcceptsAnyCursor(t *testing.T) {
	for _, tree := range []bool{false, true} {
		s := logOf(1000)
		if tree {
			s.convertToTree()
		}
		for _, c := range []uint64{
			1, 1 << 20, scanLog, scanLog + 1, scanLog - 1, scanLog | 1<<54, scanLog | 1<<60,
			1 << 63, 1<<63 | scanLog, 1<<64 - 1,
		} {
			for calls := 0; c != 0; calls++ {
				require.Less(t, calls, 10_000)
				c = s.Scan(c, func(Entry) {})
			}
		}
	}
}

// A call on a log is bounded, even if a million units are one token.
func TestScanPages(t *testing.T) {
	var s Set
	s.AppendRun(-5, 1_000_000)
	n := 0
	next := s.Scan(0, func(Entry) { n++ })
	require.Equal(t, scanWhole, n)
	require.NotZero(t, next)
	first := int64(0)
	s.Scan(next, func(e Entry) {
		if n == scanWhole {
			first = e.Number()
		}
		n++
	})
	require.Equal(t, int64(scanWhole-5), first)
}

func TestIterationBounds(t *testing.T) {
	for _, tree := range []bool{false, true} {
		var s Set
		if tree {
			s.convertToTree()
		}
		count := func(walk func(int, func(Entry) bool), from int) (n int) {
			walk(from, func(Entry) bool { n++; return true })
			return n
		}
		require.Zero(t, count(s.Ascend, 0))
		require.Zero(t, count(s.Descend, 0))
		for i := range int64(10) {
			addNumber(&s, i*2)
		}
		require.Equal(t, 10, count(s.Ascend, -3))
		require.Equal(t, 1, count(s.Ascend, 9))
		require.Zero(t, count(s.Ascend, 10))
		require.Equal(t, 10, count(s.Descend, 99))
		require.Equal(t, 1, count(s.Descend, 0))
		require.Zero(t, count(s.Descend, -1))
		require.Panics(t, func() { s.At(10) })
		require.Panics(t, func() { s.ScoreAt(10) })
		require.Panics(t, func() { s.At(-1) })
		require.Zero(t, s.RemoveByRank(5, 5))
		require.Zero(t, s.RemoveByRank(7, 3))
		require.Equal(t, 10, s.RemoveByRank(-1, 99))
	}
}

func TestRandomIsUniform(t *testing.T) {
	for _, tree := range []bool{false, true} {
		var s Set
		for i := range int64(300) {
			addNumber(&s, i*i)
		}
		if tree {
			s.convertToTree()
		}
		seen := map[string]int{}
		for i := range uint64(600) {
			seen[s.Random(func(n uint64) uint64 { return i % n }).Member()]++
		}
		require.Len(t, seen, 300)
		for m, n := range seen {
			require.Equal(t, 2, n, m)
		}
	}
}

func TestCloneIsDeep(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 10, 1000} {
		for _, tree := range []bool{false, true} {
			var s Set
			var m model
			for i := range int64(n) {
				addNumber(&s, i*gap)
				m.add(decimal(i*gap), float64(i*gap))
			}
			if tree {
				s.Add([]byte("x"), 7)
				m.add("x", 7)
			}
			c := s.Clone()
			require.NoError(t, c.check())
			require.NoError(t, compare(c, &m, rng.IntN))
			require.Equal(t, s.IsLog(), c.IsLog())
			for i := range int64(n) {
				s.Remove([]byte(decimal(i * gap)))
				addNumber(&s, i*gap+1)
			}
			require.NoError(t, c.check())
			require.NoError(t, compare(c, &m, rng.IntN))
			c.RemoveByRank(0, c.Len())
			require.NoError(t, s.check())
		}
	}
}
