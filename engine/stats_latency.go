package engine

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// latency is how long handlers of one command took, from a sample of its calls:
// reading the clock twice for each is a cost that a short command would feel.
//
// What walks the keyspace is always timed, and so is the first call; of the rest one in sixteen, chosen by chance, so that no
// pipeline's rhythm hides a command. The clock counts whole microseconds: one
// call's figure is off by up to one, their mean is not.
type latency struct {
	timed, us atomic.Int64
	buckets   [LatencyBuckets]atomic.Int64 // bucket i: at most 2^i microseconds; the last: longer
}

// LatencyBuckets is how many buckets a latency has: up to 2^22 us, four seconds,
// and longer.
const LatencyBuckets = 24

func (l *latency) add(us int64) {
	us = max(us, 0)
	l.timed.Add(1)
	l.us.Add(us)
	l.buckets[min(bits.Len64(uint64(max(us, 1)-1)), LatencyBuckets-1)].Add(1)
}

func (l *latency) reset() {
	l.timed.Store(0)
	l.us.Store(0)
	for i := range l.buckets {
		l.buckets[i].Store(0)
	}
}

// mean is the mean of what was timed, in microseconds.
func (l *latency) mean() float64 {
	timed := l.timed.Load()
	if timed == 0 {
		return 0
	}
	return float64(l.us.Load()) / float64(timed)
}

// percentile returns an upper bound, in microseconds, of what so many percent of
// the calls took.
func (l *latency) percentile(percent float64) int64 {
	var counts [LatencyBuckets]int64
	total := int64(0)
	for i := range counts {
		counts[i] = l.buckets[i].Load()
		total += counts[i]
	}
	rest := int64(math.Ceil(float64(total) * percent / 100))
	for i, n := range counts {
		if rest -= n; rest <= 0 {
			return 1 << i
		}
	}
	return 1 << (LatencyBuckets - 1)
}

// isTimed decides whether the call under way is timed.
func (s *Session) isTimed(cmd *commands.Command) bool {
	if cmd.Locks == nil && cmd.Flags&commands.AllShards != 0 {
		return true // it walks the keyspace: few of these are asked for
	}
	s.random = s.random*1664525 + 1013904223
	return s.random>>28 == 0 || s.run.calls == 0 && s.engine.stats.calls[cmd.ID()].latency.timed.Load() == 0
}

// timed runs a handler and files how long it took.
func (s *Session) timed(cmd *commands.Command) resp.Value {
	startUs := s.engine.clock.MonotonicUs()
	reply := s.ctx.Run()
	s.engine.stats.calls[cmd.ID()].latency.add(s.engine.clock.MonotonicUs() - startUs)
	return reply
}
