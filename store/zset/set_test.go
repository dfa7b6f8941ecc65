package zset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

func randomProgram(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// The same programs run on a log, on trees, and across conversions.
func TestModel(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var kinds [kindTree + 1]int
	regularSteps := 0
	for i := range race.Fewer(10) {
		program := randomProgram(rng, 16000)
		for _, encoding := range []string{"log", "weighted log", "packed", "regular", "tree", "mixed"} {
			h := &history{program: slices.Clone(program), now: int64(i) * 1_700_000_000_000_000 / 30}
			switch encoding {
			case "packed", "regular":
				h.small, h.regular = true, encoding == "regular"
				h.set.convertLog()
			case "tree":
				h.set.convertToTree()
			}
			convert := encoding == "mixed" || encoding == "regular"
			isLog := encoding == "log" || encoding == "weighted log"
			h.weights = encoding == "weighted log" || encoding == "mixed" && i%2 > 0
			require.NoError(t, h.run(convert, 7), "%s, program %d", encoding, i)
			require.True(t, encoding == "mixed" || h.set.IsLog() == isLog)
			for k, n := range h.kinds {
				kinds[k] += n
			}
			regularSteps += h.regularSteps
		}
	}
	require.Greater(t, regularSteps, 1000)
	for k, n := range kinds {
		require.Greater(t, n, 1000, "encoding %d was hardly covered: %v", k, kinds)
	}
}

func FuzzSet(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		f.Add(randomProgram(rng, 400))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		for _, start := range []func(*Set){func(*Set) {}, (*Set).convertLog, (*Set).convertToTree} {
			for _, weights := range []bool{false, true} {
				h := &history{program: program, weights: weights}
				start(&h.set)
				require.NoError(t, h.run(true, 16))
			}
		}
	})
}

// Sets of thousands have several levels in directories and ranks.
func TestLargeSets(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, tree := range []bool{false, true} {
		var s Set
		var m model
		if tree {
			s.convertToTree()
		}
		for i := range 6000 {
			v := rng.Int64N(1 << 30)
			if i%3 > 0 {
				v = 1<<30 + int64(i)*gap
			}
			addNumber(&s, v)
			m.add(decimal(v), float64(v))
		}
		require.NoError(t, s.check())
		require.NoError(t, compare(&s, &m, rng.IntN))
		for s.Len() > 0 {
			switch n := s.Len(); rng.IntN(4) {
			case 0:
				start := rng.IntN(n)
				stop := start + rng.IntN(500)
				require.Equal(t, m.removeRanks(start, stop), s.RemoveByRank(start, stop))
			case 1:
				k := rng.IntN(100)
				require.Equal(t, m.removeRanks(0, k), s.RemoveByRank(0, k))
			case 2:
				k := n - rng.IntN(100)
				require.Equal(t, m.removeRanks(k, n), s.RemoveByRank(k, n))
			default:
				for range 100 {
					v := rng.Int64N(1 << 31)
					addNumber(&s, v)
					m.add(decimal(v), float64(v))
				}
			}
			require.NoError(t, s.check())
			require.NoError(t, compare(&s, &m, rng.IntN))
			r := ScoreRange{
				float64(rng.Int64N(1 << 31)), float64(rng.Int64N(1 << 31)),
				rng.IntN(2) > 0, rng.IntN(2) > 0,
			}
			start, stop := s.RankRangeByScore(r)
			wantStart, wantStop := m.ranks(r)
			require.Equal(t, []int{wantStart, wantStop}, []int{start, stop}, "%+v", r)
		}
	}
}
