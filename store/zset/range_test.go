package zset

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScoreRangeBounds(t *testing.T) {
	inf := math.Inf(1)
	cases := []struct {
		r           ScoreRange
		start, stop int
	}{ // over -2^53, -1, 0, 1, 2, 2^53
		{ScoreRange{Min: -inf, Max: inf}, 0, 6},
		{ScoreRange{Min: -inf, Max: inf, MinOpen: true, MaxOpen: true}, 0, 6},
		{ScoreRange{Min: inf, Max: inf}, 6, 6},
		{ScoreRange{Min: -inf, Max: -inf}, 0, 0},
		{ScoreRange{Min: inf, Max: -inf}, 6, 6},
		{ScoreRange{Min: -maxNumber, Max: maxNumber}, 0, 6},
		{ScoreRange{Min: -maxNumber, Max: maxNumber, MinOpen: true, MaxOpen: true}, 1, 5},
		{ScoreRange{Min: -maxNumber * 2, Max: maxNumber * 2}, 0, 6},
		{ScoreRange{Min: 0.5, Max: 1.5}, 3, 4},
		{ScoreRange{Min: 1, Max: 1}, 3, 4},
		{ScoreRange{Min: 1, Max: 1, MinOpen: true}, 4, 4},
		{ScoreRange{Min: 1, Max: 1, MaxOpen: true}, 3, 3},
		{ScoreRange{Min: 1, Max: 1, MinOpen: true, MaxOpen: true}, 4, 4},
		{ScoreRange{Min: 2, Max: 1}, 4, 4},
		{ScoreRange{Min: math.Copysign(0, -1), Max: 0}, 2, 3},
		{ScoreRange{Min: 5e-324, Max: 1e300}, 3, 6},
		{ScoreRange{Min: -5e-324, Max: 5e-324}, 2, 3},
		{ScoreRange{Min: -1e300, Max: -1, MaxOpen: true}, 0, 1},
	}
	for _, tree := range []bool{false, true} {
		var s Set
		for _, v := range []int64{-maxNumber, -1, 0, 1, 2, maxNumber} {
			addNumber(&s, v)
		}
		if tree {
			s.convertToTree()
		}
		for _, c := range cases {
			start, stop := s.RankRangeByScore(c.r)
			require.Equal(t, []int{c.start, c.stop}, []int{start, stop}, "%+v", c.r)
			require.Equal(t, c.stop-c.start, s.CountByScore(c.r))
		}
	}
}

func lexBounds(low, high string) LexRange {
	parse := func(s string) LexBound {
		switch s[0] {
		case '-':
			return LexBound{Inf: -1}
		case '+':
			return LexBound{Inf: 1}
		}
		return LexBound{Value: []byte(s[1:]), Open: s[0] == '('}
	}
	return LexRange{parse(low), parse(high)}
}

func TestLexRangeOfEqualScores(t *testing.T) {
	cases := []struct {
		low, high   string
		start, stop int
	}{ // over "", a, b, bb, c
		{"-", "+", 0, 5},
		{"[", "[", 0, 1},
		{"(", "+", 1, 5},
		{"[a", "[b", 1, 3},
		{"(a", "(c", 2, 4},
		{"[b", "(b", 0, 0},
		{"[c", "[a", 0, 0},
		{"+", "-", 0, 0},
		{"+", "+", 0, 0},
		{"-", "-", 0, 0},
		{"[d", "+", 0, 0},
		{"-", "(", 0, 0},
		{"[ab", "[ba", 2, 3},
	}
	for _, more := range []int{0, 1000} { // one leaf, or many
		var s Set
		for _, m := range []string{"c", "bb", "", "a", "b"} {
			s.Add([]byte(m), 1)
		}
		for i := range more {
			s.Add(append([]byte("bb"), decimal(int64(i))...), 1)
		}
		for _, c := range cases {
			start, stop := s.RankRangeByLex(lexBounds(c.low, c.high))
			down, downStop := s.RankRangeByLexReverse(lexBounds(c.low, c.high))
			require.Equal(t, []int{start, stop}, []int{down, downStop})
			want := c.stop
			if want > 3 {
				want += more
			}
			require.Equal(t, want-c.start, stop-start, "%+v", c)
			if stop > start {
				require.Equal(t, c.start, start, "%+v", c)
			}
		}
	}
}

// With differing scores in a large set the answer is as arbitrary as in Redis, but the same in both encodings
// and within the set.
func TestLexRangeOfMixedScores(t *testing.T) {
	log := logOf(1000)
	tree := log.Clone()
	tree.convertToTree()
	for _, r := range []LexRange{
		lexBounds("-", "+"),
		lexBounds("[17", "[18"),
		lexBounds("(1700000000500000", "+"),
		lexBounds("-", "[1700000001"),
	} {
		start, stop := log.RankRangeByLex(r)
		treeStart, treeStop := tree.RankRangeByLex(r)
		require.Equal(t, []int{start, stop}, []int{treeStart, treeStop})
		require.True(t, 0 <= start && start <= stop && stop <= log.Len())
	}
}

func TestEntry(t *testing.T) {
	var s Set
	s.AppendRun(42, 1)
	e := s.At(0)
	require.True(t, e.IsNumber())
	require.Equal(t, int64(42), e.Number())
	require.Equal(t, "42", e.Member())
	s.Add([]byte(""), 1)
	require.False(t, s.At(0).IsNumber())
	require.Empty(t, s.At(0).Member())
	require.True(t, bytes.Equal([]byte("x42"), s.At(1).AppendMember([]byte("x"))))
	require.Equal(t, "42", e.Member(), "an entry stays valid after a change")
}
