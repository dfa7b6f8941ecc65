package limiter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// regular is a log of n units, one each millisecond from 2023 on, that counts how often it
// is read.
type regular struct {
	n     int64
	reads *int
}

const lineMs = 1_700_000_000_000

func (l regular) Len() int     { return int(l.n) }
func (l regular) Units() int64 { return l.n }
func (l regular) UnitAt(rank int64) int64 {
	*l.reads++
	return (lineMs + rank) * entriesPerMs
}
func (l regular) Oldest() int64 { return l.UnitAt(0) }
func (l regular) Newest() int64 { return l.UnitAt(l.n - 1) }
func (l regular) UnitsAfter(score int64) int64 {
	*l.reads++
	return min(max(l.n-1-(msOf(score)-lineMs), 0), l.n)
}

// TestExplainIsBounded explains a log of 16 million units in as many reads as a short
// one, and without an allocation for each.
func TestExplainIsBounded(t *testing.T) {
	var reads [2]int
	for i, n := range []int64{20, DefaultMaxEntries} {
		var x Explanation
		allocs := testing.AllocsPerRun(10, func() {
			reads[i] = 0
			x = Explain(Units{regular{n, &reads[i]}}, lineMs+n-1, 0, per(n, n), 3)
		})
		require.LessOrEqual(t, allocs, 3.0)
		require.Equal(t, []int64{n, 0, 1, 3}, []int64{x.Used, x.Remaining, x.Fits, x.CostFits})
		require.Equal(t, n/10, x.Tenths[0])
		sum := int64(0)
		for _, units := range x.Tenths {
			sum += units
		}
		require.Equal(t, n, sum)
		require.Equal(t, [10]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, x.Leaves)
	}
	require.Equal(t, reads[0], reads[1])
	require.Less(t, reads[1], 110)
}

// TestExplainAtTheEnds: nothing overflows at the ends of the arguments.
func TestExplainAtTheEnds(t *testing.T) {
	const last = MaxScore/entriesPerMs - 1
	widest := per(1<<63-1, MaxWindowMs-1)
	for _, s := range []Subject{
		Units{},
		Units{scores{MinScore, MaxScore - 1}},
		&Fixed{Count: 1<<63 - 1},
		&GCRA{TatUs: last * usPerMs, Burst: 1}, &GCRA{TatUs: 1<<63 - 1, Burst: 1},
		&Buckets{WidthMs: MaxWindowMs - 1, N: 1, Counts: []int64{1<<63 - 1, 1<<63 - 1}},
		&Counter{WindowMs: MaxWindowMs - 1, Count: 1<<63 - 1, Previous: 1<<63 - 1},
	} {
		for _, nowMs := range []int64{MinScore / entriesPerMs, lineMs, last} {
			for _, expireAtMs := range []int64{0, 1, nowMs, last} {
				x := Explain(s, nowMs, expireAtMs, widest, 1<<63-1)
				require.GreaterOrEqual(t, x.Used, int64(0), "%T %v", s, s)
				require.GreaterOrEqual(t, x.Fits, int64(-1), "%T %v", s, s)
				for i, wait := range x.Leaves[:x.LeavesLen] {
					require.GreaterOrEqual(t, wait, x.Leaves[max(i-1, 0)], "%T %v at %d", s, s, nowMs)
				}
				for _, units := range x.Tenths {
					require.GreaterOrEqual(t, units, int64(0), "%T %v", s, s)
				}
			}
		}
	}
}
