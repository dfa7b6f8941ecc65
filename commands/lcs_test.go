package commands

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// lcsByTable is the textbook's algorithm, a number for each pair of positions, with the
// path back that Redis takes.
func lcsByTable(a, b []byte) (length int, matches []lcsMatch) {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := 1; i > 0 && j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				table[i][j] = table[i-1][j-1] + 1
			} else {
				table[i][j] = max(table[i-1][j], table[i][j-1])
			}
		}
	}
	var open *lcsMatch
	for i, j := len(a), len(b); i > 0 && j > 0; {
		switch {
		case a[i-1] == b[j-1]:
			if open == nil {
				matches = append(matches, lcsMatch{})
				open = &matches[len(matches)-1]
			}
			i, j = i-1, j-1
			*open = lcsMatch{i, j, open.length + 1}
		case table[i-1][j] > table[i][j-1]:
			i, open = i-1, nil
		default:
			j, open = j-1, nil
		}
	}
	return table[len(a)][len(b)], matches
}

func collectMatches(t *lcsTable) (all []lcsMatch) {
	for m := range t.matches() {
		all = append(all, m)
	}
	return all
}

func TestLCSTable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	text := func() []byte {
		out := make([]byte, rnd.IntN([]int{1, 3, 70, 300}[rnd.IntN(4)]+1))
		letters := 1 + rnd.IntN(5)
		for i := range out {
			out[i] = byte(rnd.IntN(letters))
		}
		return out
	}
	for range 3000 {
		a, b := text(), text()
		length, matches := lcsByTable(a, b)
		table := newLCSTable(a, b, true)
		require.Equal(t, length, table.length(), "%q %q", a, b)
		require.Equal(t, matches, collectMatches(table), "%q %q", a, b)
		require.Len(t, table.subsequence(), length)
		require.Equal(t, length, newLCSTable(a, b, false).length(), "%q %q", a, b)
	}
}

// The table is at most a 32nd of the limit for every shape.
func TestLCSMemory(t *testing.T) {
	const limit = 1 << 20
	for _, size := range [][2]int{
		{limit/8 - 1, 1},
		{1, limit/8 - 1},
		{511, 511},
		{limit/4 - 1, 0},
		{0, limit/4 - 1},
	} {
		require.True(t, lcsFits(size[0], size[1], limit), size)
		require.False(t, lcsFits(size[0]+1, size[1]+1, limit), size)
		a, b := make([]byte, size[0]), make([]byte, size[1])
		table := newLCSTable(a, b, true)
		require.Equal(t, min(size[0], size[1]), table.length())
		require.LessOrEqual(t, 8*len(table.grew), limit/32+8)
		require.LessOrEqual(t, 8*len(table.row), limit/32+8)
	}
}
