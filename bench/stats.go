package main

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// median returns the middle value, the mean of the two middle ones for an even number,
// and NaN for none. It does not change values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// A ratio compares two series of the same length, measured in turns.
type ratio struct {
	// OfMedians is the figure to quote: the median of ours divided by that of theirs.
	OfMedians float64 `json:"of_medians"`
	// Min and Max are over the pairs of rounds. They show how far to trust OfMedians.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// compare returns ours / theirs. It panics if the lengths differ, because the pairs
// would be of different rounds.
func compare(ours, theirs []float64) ratio {
	if len(ours) != len(theirs) {
		panic("bench: compare: rounds without a partner")
	}
	r := ratio{OfMedians: median(ours) / median(theirs), Min: math.Inf(1), Max: math.Inf(-1)}
	for i := range ours {
		pair := ours[i] / theirs[i]
		r.Min, r.Max = min(r.Min, pair), max(r.Max, pair)
	}
	return r
}

// missed reports whether a ratio is below the floor. 0 is no floor; NaN misses every
// floor.
func missed(figure, floor float64) bool {
	return floor > 0 && !(figure >= floor)
}

// subBuckets divides each power of two: the precision is 1/32.
const subBuckets = 32

// A histogram counts durations in logarithmic buckets, from 1 ns to centuries. The zero
// value is empty.
type histogram struct {
	counts [64 * subBuckets]int64
	total  int64
}

func (h *histogram) record(d time.Duration) {
	h.counts[bucket(d)]++
	h.total++
}

// quantile returns the upper edge of the bucket of the q-th (0 to 1) of the recorded
// durations, and 0 if there are none.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q * float64(h.total))
	for i, n := range h.counts {
		if rank -= n; n > 0 && rank <= 0 {
			return upper(i)
		}
	}
	return 0
}

// bucket is linear up to subBuckets ns, then has subBuckets for each power of two.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subBuckets {
		return int(v)
	}
	power := bits.Len64(v) - bits.Len64(subBuckets-1) - 1
	return (power+1)*subBuckets + int(v>>power)&(subBuckets-1)
}

// upper returns the largest duration of a bucket.
func upper(i int) time.Duration {
	if i < subBuckets {
		return time.Duration(i)
	}
	power := i/subBuckets - 1
	return time.Duration((uint64(i%subBuckets+subBuckets)+1)<<power - 1)
}
