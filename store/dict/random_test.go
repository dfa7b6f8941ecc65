package dict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// chiSquare draws 200 times the number of keys and returns the statistic divided by its degrees of freedom:
// about 1 for a uniform pick, with a standard deviation of sqrt(2/degrees).
func chiSquare(d *Dict[int], pick func(func(uint64) uint64) *Node[int], rng *rand.Rand) float64 {
	counts := map[*Node[int]]int{}
	const expected = 200
	for range expected * d.Len() {
		counts[pick(rng.Uint64N)]++
	}
	sum := 0.0
	for n := range d.All() {
		diff := float64(counts[n] - expected)
		sum += diff * diff / expected
	}
	return sum / float64(d.Len()-1)
}

func TestRandomIsUniform(t *testing.T) {
	for _, size := range []int{2, 5, 100, 767, 1024, 1500} {
		rng := rand.New(rand.NewPCG(uint64(size), 3))
		var d Dict[int]
		for i := range size {
			key := fmt.Append(nil, i)
			d.Put(rng.Uint32(), key) // random hashes that repeat from run to run
		}
		// Six standard deviations.
		bound := 6 * 1.4142 / math.Sqrt(float64(size-1))
		require.InDelta(t, 1, chiSquare(&d, d.Random, rng), bound, "size %d", size)
	}
}

// The statistic must detect that a random node of a random bucket is not a uniform pick.
func TestChiSquareDetectsBias(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var d Dict[int]
	for i := range 1500 {
		d.Put(rng.Uint32(), fmt.Append(nil, i))
	}
	biased := func(rnd func(uint64) uint64) *Node[int] {
		for {
			i := rnd(d.n)
			var chain []*Node[int]
			for n := d.segs[i>>segBits][i&segMask]; n != nil; n = n.next {
				chain = append(chain, n)
			}
			if len(chain) > 0 {
				return chain[rnd(uint64(len(chain)))]
			}
		}
	}
	require.Greater(t, chiSquare(&d, biased, rng), 10.0)
}

func TestRandomEdgeCases(t *testing.T) {
	var d Dict[int]
	require.Nil(t, d.Random(rand.Uint64N))

	// A source that always answers 0 or n-1 must not hang.
	d.Put(1, []byte("only"))
	for _, rnd := range []func(uint64) uint64{
		func(uint64) uint64 { return 0 },
		func(n uint64) uint64 { return n - 1 },
	} {
		require.Equal(t, "only", d.Random(rnd).Key())
	}

	// One chain of 100 nodes: each of them can be drawn.
	d.Clear()
	for i := range 100 {
		d.Put(0, fmt.Append(nil, i))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range 5000 {
		seen[d.Random(rng.Uint64N).Key()] = true
	}
	require.Len(t, seen, 100)

	// Inside All, with nearly everything deleted and no merges yet.
	for n := range d.All() {
		if d.Len() > 1 {
			d.Unlink(n)
		}
		require.NotNil(t, d.Random(rng.Uint64N))
	}
}

// TestSample checks that samples are nodes of the table, none twice, and enough of them, and that
// each node is in some sample.
func TestSample(t *testing.T) {
	for _, size := range []int{0, 1, 5, 100, 1500} {
		rng := rand.New(rand.NewPCG(uint64(size), 3))
		var d Dict[int]
		for i := range size {
			d.Put(rng.Uint32(), fmt.Append(nil, i))
		}
		ever := map[*Node[int]]bool{}
		for range 300 {
			k := rng.IntN(size + 10)
			first := &Node[int]{}
			got := d.Sample([]*Node[int]{first}, rng.Uint64(), k)
			require.Same(t, first, got[0])
			require.GreaterOrEqual(t, len(got)-1, min(k, size))
			seen := map[*Node[int]]bool{}
			for _, n := range got[1:] {
				require.Same(t, n, d.GetString(n.Hash(), n.Key()))
				require.False(t, seen[n])
				seen[n], ever[n] = true, true
			}
		}
		require.Len(t, ever, size)
		require.Empty(t, (&Dict[int]{}).Sample(nil, 7, 5))
	}
}
