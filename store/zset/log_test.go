package zset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func addNumber(s *Set, v int64) { s.Add([]byte(decimal(v)), float64(v)) }

func TestParseNumber(t *testing.T) {
	for _, v := range []int64{0, 1, 9, 10, 127, -1, -10, 1_700_000_000_000_000, maxNumber, -maxNumber} {
		got, ok := parseNumber([]byte(decimal(v)))
		require.True(t, ok, v)
		require.Equal(t, v, got)
	}
	for _, m := range []string{
		"", "-", "-0", "00", "01", "-01", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "inf", "nan", "1\x00",
		"--1", "1-",
		"9007199254740993", "-9007199254740993", "9999999999999999", "10000000000000000",
		"92233720368547758070", "-99999999999999999",
	} {
		_, ok := parseNumber([]byte(m))
		require.False(t, ok, "%q", m)
	}
}

// Only a member that is not the decimal of its score converts the set, and for good.
func TestLogConversion(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	cases := []struct {
		name   string
		member string
		score  float64
		log    bool
	}{
		{"its own decimal", "70", 70, true},
		{"zero", "0", 0, true},
		{"negative", "-70", -70, true},
		{"highest", "9007199254740992", maxNumber, true},
		{"lowest", "-9007199254740992", -maxNumber, true},
		{"existing", "5", 5, true},
		{"one above the highest, which as a score is equal", "9007199254740993", maxNumber, false},
		{"two above the highest", "9007199254740994", maxNumber + 2, false},
		{"two below the lowest", "-9007199254740994", -maxNumber - 2, false},
		{"another name", "hit", 70, false},
		{"empty name", "", 0, false},
		{"leading zero", "0100", 100, false},
		{"plus", "+1", 1, false},
		{"fraction", "1", 1.5, false},
		{"fraction in the name", "1.5", 1.5, false},
		{"minus zero by score", "0", negativeZero, false},
		{"minus zero by name", "-0", 0, false},
		{"infinite", "inf", math.Inf(1), false},
		{"a number at infinity", "1", math.Inf(-1), false},
		{"existing, with another score than its name", "5", 6, false},
		{"exponent", "1e3", 1000, false},
	}
	for _, c := range cases {
		for _, units := range []int{1, 40, 400} { // in the Set, in one block, in several
			t.Run(fmt.Sprintf("%s/%d", c.name, units), func(t *testing.T) {
				var s Set
				var m model
				for i := range int64(units) {
					addNumber(&s, 5+i*1000)
					m.add(decimal(5+i*1000), float64(5+i*1000))
				}
				s.Add([]byte(c.member), c.score)
				m.add(c.member, c.score)
				require.Equal(t, c.log, s.IsLog())
				require.NoError(t, s.check())
				require.NoError(t, compare(&s, &m, rand.IntN))

				s.Remove([]byte(c.member))
				m.remove(c.member)
				require.Equal(t, c.log, s.IsLog())
				require.NoError(t, compare(&s, &m, rand.IntN))
				s.RemoveByRank(0, s.Len())
				addNumber(&s, 3)
				require.Equal(t, c.log, s.IsLog(), "an empty tree stays a tree")
			})
		}
	}
}

func TestNaNPanics(t *testing.T) {
	var s Set
	require.Panics(t, func() { s.Add([]byte("1"), math.NaN()) })
	require.Zero(t, s.Len())
}

// Setting -0 for 0 is not a change, as in Redis: the scores compare equal.
func TestMinusZeroForZero(t *testing.T) {
	for _, tree := range []bool{false, true} {
		var s Set
		if tree {
			s.convertToTree()
		}
		addNumber(&s, 0)
		old, existed := s.Add([]byte("0"), math.Copysign(0, -1))
		require.True(t, existed)
		require.False(t, math.Signbit(old))
		require.Equal(t, !tree, s.IsLog())
		score, _ := s.Score([]byte("0"))
		require.False(t, math.Signbit(score))
	}
}

func TestAppendRunPanics(t *testing.T) {
	var s Set
	s.AppendRun(10, 5)
	for _, c := range []struct {
		first int64
		n     int
	}{
		{14, 1},
		{0, 1},
		{20, 0},
		{20, -1},
		{maxNumber, 2},
		{maxNumber + 1, 1},
		{-maxNumber - 1, 1},
		{20, math.MaxInt},
		{math.MaxInt64, 1},
		{math.MinInt64, 1},
	} {
		require.Panics(t, func() { s.AppendRun(c.first, c.n) }, "%+v", c)
	}
	s.AppendRun(maxNumber, 1)
	require.Equal(t, 6, s.Len())
	require.NoError(t, s.check())
	s.convertToTree()
	require.Panics(t, func() { s.AppendRun(maxNumber+1, 1) })
}

// Runs may be longer than the Set's own count can hold.
func TestHugeRuns(t *testing.T) {
	var s Set
	s.AppendRun(-maxNumber, maxNumber) // up to -1
	require.NoError(t, s.check())
	s.AppendRun(0, 7)
	s.AppendRun(9, math.MaxUint32)
	s.AppendRun(math.MaxUint32+9, 1)
	require.NoError(t, s.check())
	require.Equal(t, maxNumber+7+math.MaxUint32+1, s.Len())
	require.Equal(t, int64(6), s.UnitAt(maxNumber+6))
	require.Equal(t, int64(9), s.UnitAt(maxNumber+7))
	require.Less(t, s.Memory(), int64(500))
	require.Equal(t, maxNumber-5, s.DropThrough(-6))
	require.NoError(t, s.check())
	require.Equal(t, 5+7+math.MaxUint32+1, s.Len())
	require.Equal(t, 1, s.RemoveByRank(100, 101))
	require.NoError(t, s.check())
	require.Equal(t, math.MaxUint32-50, s.RemoveByRank(62, s.Len()))
	require.NoError(t, s.check())
	require.Equal(t, 62, s.Len())

	var one Set
	one.AppendRun(0, math.MaxUint32)
	require.Equal(t, uint8(kindBlock), one.kind)
	one.AppendRun(math.MaxUint32, 1)
	require.NoError(t, one.check())
	require.Equal(t, math.MaxUint32+1, one.Len())
	one.DropThrough(0)
	require.NoError(t, one.check())
}

func TestDropBounds(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000} {
		s := new(Set)
		if n > 0 {
			s = logOf(n)
		}
		require.Zero(t, s.DropThrough(math.MinInt64))
		require.Zero(t, s.UnitsAfter(math.MaxInt64))
		require.EqualValues(t, n, s.UnitsAfter(math.MinInt64))
		require.Equal(t, n, s.DropThrough(math.MaxInt64))
		require.Zero(t, s.Len())
		require.NoError(t, s.check())
		addNumber(s, 3)
		require.NoError(t, s.check())
		require.Equal(t, 1, s.Len())
	}
}

// With distances of all magnitudes the units per block vary, and a change in the middle of a block may add
// many bytes.
func TestIrregularDistances(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		var s Set
		var m model
		wild := func() int64 {
			v := rng.Int64N(maxNumber+1) >> rng.IntN(54)
			if rng.IntN(2) == 0 {
				v = -v
			}
			return v + int64(rng.IntN(3))*min(1, maxNumber-max(v, -v))
		}
		for range 400 {
			v := wild()
			if v < -maxNumber || v > maxNumber {
				continue
			}
			addNumber(&s, v)
			m.add(decimal(v), float64(v))
			require.NoError(t, s.check())
		}
		require.True(t, s.IsLog())
		require.NoError(t, compare(&s, &m, rng.IntN))
		for s.Len() > 0 {
			start := rng.IntN(s.Len())
			stop := start + 1 + rng.IntN(3)*rng.IntN(20)
			require.Equal(t, m.removeRanks(start, stop), s.RemoveByRank(start, stop))
			require.NoError(t, s.check())
			if s.Len()%16 == 0 {
				require.NoError(t, compare(&s, &m, rng.IntN))
			}
		}
	}
}

// Splitting a long run adds the most bytes.
func TestSplitRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var s Set
	const n = 1 << 40
	s.AppendRun(-n/2, n)
	held := n
	for i := range 500 {
		start := rng.IntN(held)
		stop := min(start+1+rng.IntN(3), held)
		held -= s.RemoveByRank(start, stop)
		require.NoError(t, s.check(), i)
		require.Equal(t, held, s.Len())
	}
	require.True(t, s.IsLog())
}

// Units of thousands of entries, changed and removed anywhere.
func TestLargeWeightedLog(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var s Set
	var m model
	member := func(v, units int64) string { return fmt.Sprintf("%d:%d", v, units) }
	for v := int64(1_700_000_000_000_000); len(m.entries) < 5000; v += 1 + rng.Int64N(2*gap) {
		units := rng.Int64N(1<<rng.IntN(38)) + 1
		s.Append(v, units)
		if s.hasWeights() {
			m.entries = append(m.entries, modelEntry{member(v, units), float64(v)})
		} else {
			m.entries = append(m.entries, modelEntry{decimal(v), float64(v)})
		}
	}
	for s.Len() > 0 {
		for range 20 {
			i := rng.IntN(len(m.entries))
			if v := int64(m.entries[i].score); !isDecimal(m.entries[i].member) {
				units := rng.Int64N(1<<rng.IntN(38)) + 1
				s.SetUnits(v, units)
				m.entries[i].member = member(v, units)
			}
		}
		start := rng.IntN(s.Len()) * rng.IntN(2)
		stop := start + 1 + rng.IntN(3)*rng.IntN(300)
		require.Equal(t, m.removeRanks(start, stop), s.RemoveByRank(start, stop))
		require.NoError(t, s.check())
		require.NoError(t, compare(&s, &m, rng.IntN))
	}
	require.False(t, s.hasWeights())
}
