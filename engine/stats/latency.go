package stats

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// A Latency is how long the calls of one command took, of a sample: to read the
// clock twice for each call is a cost that a short command would feel. The clock
// counts whole microseconds, so one call is off by up to one, their mean is not.
type Latency struct {
	timed, us atomic.Int64
	buckets   [LatencyBuckets]atomic.Int64 // bucket i: at most 2^i microseconds; the last: longer
}

// LatencyBuckets is the number of a Latency's buckets: up to 2^22 us, which is four
// seconds, and one for longer calls.
const LatencyBuckets = 24

// Add adds a call that took us microseconds.
func (l *Latency) Add(us int64) {
	us = max(us, 0)
	l.timed.Add(1)
	l.us.Add(us)
	l.buckets[min(bits.Len64(uint64(max(us, 1)-1)), LatencyBuckets-1)].Add(1)
}

func (l *Latency) reset() {
	l.timed.Store(0)
	l.us.Store(0)
	for i := range l.buckets {
		l.buckets[i].Store(0)
	}
}

// Timed reports whether any call was timed.
func (l *Latency) Timed() bool { return l.timed.Load() > 0 }

// SumUs returns how many microseconds the timed calls took together.
func (l *Latency) SumUs() int64 { return l.us.Load() }

// MeanUs returns the mean of the timed calls in microseconds, 0 if there was none.
func (l *Latency) MeanUs() float64 {
	timed := l.timed.Load()
	if timed == 0 {
		return 0
	}
	return float64(l.us.Load()) / float64(timed)
}

// Buckets returns the number of timed calls in each bucket. They are not cumulative.
func (l *Latency) Buckets() (counts [LatencyBuckets]int64) {
	for i := range counts {
		counts[i] = l.buckets[i].Load()
	}
	return counts
}

// PercentileUs returns an upper bound, in microseconds, of what percent of the timed
// calls took.
func (l *Latency) PercentileUs(percent float64) int64 {
	counts := l.Buckets()
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	rest := int64(math.Ceil(float64(total) * percent / 100))
	for i, n := range counts {
		if rest -= n; rest <= 0 {
			return 1 << i
		}
	}
	return 1 << (LatencyBuckets - 1)
}
