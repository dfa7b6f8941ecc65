package envoy

import (
	"maps"
	"sync"

	"github.com/lyft/gostats"
)

// sink sums the counters that the reference flushes.
type sink struct {
	mu  sync.Mutex // protects sum
	sum map[string]uint64
}

func newSink() *sink { return &sink{sum: map[string]uint64{}} }

func (s *sink) store() stats.Store { return stats.NewStore(s, false) }

// FlushCounter adds what a counter has counted since its last flush.
func (s *sink) FlushCounter(name string, value uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum[name] += value
}

// FlushGauge ignores a gauge.
func (s *sink) FlushGauge(string, uint64) {}

// FlushTimer ignores a timer.
func (s *sink) FlushTimer(string, float64) {}

func (s *sink) counters() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sum)
}
