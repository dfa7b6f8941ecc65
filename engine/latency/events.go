package latency

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// The events. Redis' names, if Redis has one.
const (
	Command     = "command"
	FastCommand = "fast-command"
	Unblocking  = "command-unblocking"
	Expire      = "expire-cycle"
	Evict       = "eviction-cycle"
	AOFWrite    = "aof-write"
	AOFSync     = "aof-fsync-always"
	Snapshot    = "snapshot" // every shard is locked while one begins; not in Redis
	GC          = "gc"       // the collector stops every goroutine; not in Redis
)

// Never is a duration that nothing reaches.
const Never = math.MaxInt64

// A Monitor keeps the latest samples of each event. The zero value is empty and keeps
// every duration. It may be used concurrently.
type Monitor struct {
	thresholdUs atomic.Int64

	mu     sync.Mutex
	byName map[string]*event // protected by mu
}

// eventSamples is how many samples an event keeps, as in Redis.
const eventSamples = 160

// An event is the samples of one event, the oldest first.
type event struct {
	Samples []sample // at least one
	MaxMs   int64    // of all samples since the last reset, including those that are no longer kept
}

// A sample is the longest duration within one second.
type sample struct{ UnixS, Ms int64 }

// SetThreshold sets from how many milliseconds on a duration is a sample, 0 for never. It
// returns the threshold in microseconds, or Never.
func (m *Monitor) SetThreshold(ms int64) (us int64) {
	us = Never
	if ms > 0 {
		us = min(ms, Never/1000) * 1000
	}
	m.thresholdUs.Store(us)
	return us
}

// On reports whether there is a threshold.
func (m *Monitor) On() bool { return m.thresholdUs.Load() != Never }

// Wants reports whether a duration is a sample.
func (m *Monitor) Wants(us int64) bool { return us >= m.thresholdUs.Load() }

// Add adds a sample. Of several in one second the longest is kept.
func (m *Monitor) Add(name string, unixS, ms int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byName[name]
	if e == nil {
		if m.byName == nil {
			m.byName = make(map[string]*event)
		}
		e = new(event)
		m.byName[name] = e
	}
	e.MaxMs = max(e.MaxMs, ms)
	if n := len(e.Samples); n > 0 && e.Samples[n-1].UnixS == unixS {
		e.Samples[n-1].Ms = max(e.Samples[n-1].Ms, ms)
		return
	}
	if len(e.Samples) == eventSamples {
		e.Samples = slices.Delete(e.Samples, 0, 1)
	}
	e.Samples = append(e.Samples, sample{unixS, ms})
}

// names returns the names of the events that have samples, sorted.
func (m *Monitor) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.byName))
}

// get returns a copy of an event; without samples if there is none of that name.
func (m *Monitor) get(name string) event {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byName[name]
	if e == nil {
		return event{}
	}
	return event{slices.Clone(e.Samples), e.MaxMs}
}

// reset removes the named events, or all if there is no name, and returns how many it
// has removed.
func (m *Monitor) reset(names ...string) (removed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.byName)
	if len(names) == 0 {
		clear(m.byName)
	}
	for _, name := range names {
		delete(m.byName, name)
	}
	return before - len(m.byName)
}
