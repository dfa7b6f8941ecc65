package main

import (
	"math/bits"
	"time"
)

// subBuckets divides each power of two: the precision is 1/32.
const subBuckets = 32

// A histogram counts durations in logarithmic buckets, from 1 ns to centuries,
// in fixed memory and without allocating. The zero value is empty. It is not
// safe for concurrent use.
type histogram struct {
	counts [64 * subBuckets]int64
	total  int64
}

func (h *histogram) record(d time.Duration) {
	h.counts[bucket(d)]++
	h.total++
}

// add adds what another histogram has recorded.
func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
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
