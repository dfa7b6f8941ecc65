package set

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// filled returns sets of size numbers in both encodings.
func filled(size int) map[string]*Set {
	ints, table := &Set{}, &Set{}
	for i := range size {
		ints.Add(strconv.AppendInt(nil, int64(i), 10), size)
		table.Add(strconv.AppendInt(nil, int64(i), 10), 0)
	}
	return map[string]*Set{"intset": ints, "hashtable": table}
}

// chiSquare returns Pearson's statistic for equal probabilities.
func chiSquare(counts []int, total int) float64 {
	want := float64(total) / float64(len(counts))
	sum := 0.0
	for _, n := range counts {
		sum += (float64(n) - want) * (float64(n) - want) / want
	}
	return sum
}

// ceiling returns a bound that the statistic of degrees+1 equal probabilities exceeds less than once in a
// million times: its mean is degrees, its variance twice that.
func ceiling(degrees int) float64 { return float64(degrees) + 8*float64(degrees)/5 + 40 }

func TestRandomIsUniform(t *testing.T) {
	const size, draws = 50, 50_000
	rng := rand.New(rand.NewPCG(7, 8))
	for name, s := range filled(size) {
		t.Run(name, func(t *testing.T) {
			counts := make([]int, size)
			for range draws {
				n, err := strconv.Atoi(s.Random(rng.Uint64N).Text())
				require.NoError(t, err)
				counts[n]++
			}
			require.Less(t, chiSquare(counts, draws), ceiling(size-1))
		})
	}
}

// A sample has the right size, unique members and no bias, with both methods.
func TestSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct{ size, n, rounds int }{
		{1, 1, 10}, {10, 0, 10}, {10, 10, 10}, {10, 99, 10}, {40, 7, 8000}, {320, 10, 8000}, {320, 11, 8000},
	} {
		for name, s := range filled(c.size) {
			t.Run(fmt.Sprintf("%s, %d of %d", name, c.n, c.size), func(t *testing.T) {
				counts, rounds := make([]int, c.size), race.Fewer(c.rounds)
				for range rounds {
					seen := map[string]bool{}
					s.Sample(c.n, rng.Uint64N, func(m Member) {
						require.False(t, seen[m.Text()])
						seen[m.Text()] = true
						n, err := strconv.Atoi(m.Text())
						require.NoError(t, err)
						counts[n]++
					})
					require.Len(t, seen, min(c.n, c.size))
				}
				if c.n > 0 {
					require.Less(t, chiSquare(counts, rounds*min(c.n, c.size)), ceiling(c.size))
				}
			})
		}
	}
}

// An unfair pick must exceed the bound.
func TestChiSquareDetectsBias(t *testing.T) {
	counts := make([]int, 50)
	for i := range 50_000 {
		counts[i%50]++
	}
	require.Less(t, chiSquare(counts, 50_000), ceiling(49))
	counts[3] += 400
	counts[4] -= 400
	require.Greater(t, chiSquare(counts, 50_000), ceiling(49))
}
