package stats

import (
	"maps"
	"slices"
	"sync"
)

// Events has the latest samples of what took long, by the name of the event, as LATENCY
// shows them. The zero value is empty. It may be used concurrently.
type Events struct {
	mu     sync.Mutex
	byName map[string]*Event // protected by mu
}

// EventSamples is how many samples an event keeps, as in Redis.
const EventSamples = 160

// An Event is the samples of one event, the oldest first.
type Event struct {
	Samples []EventSample // at least one
	MaxMs   int64         // of all samples since the last reset, including those that are no longer kept
}

// An EventSample is the longest duration within one second.
type EventSample struct{ UnixS, Ms int64 }

// Add adds a sample. Of several in one second the longest is kept.
func (e *Events) Add(name string, unixS, ms int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	event := e.byName[name]
	if event == nil {
		if e.byName == nil {
			e.byName = make(map[string]*Event)
		}
		event = new(Event)
		e.byName[name] = event
	}
	event.MaxMs = max(event.MaxMs, ms)
	if n := len(event.Samples); n > 0 && event.Samples[n-1].UnixS == unixS {
		event.Samples[n-1].Ms = max(event.Samples[n-1].Ms, ms)
		return
	}
	if len(event.Samples) == EventSamples {
		event.Samples = slices.Delete(event.Samples, 0, 1)
	}
	event.Samples = append(event.Samples, EventSample{unixS, ms})
}

// Names returns the names of the events that have samples, sorted.
func (e *Events) Names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.byName))
}

// Get returns a copy of an event; without samples if there is none of that name.
func (e *Events) Get(name string) Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	event := e.byName[name]
	if event == nil {
		return Event{}
	}
	return Event{slices.Clone(event.Samples), event.MaxMs}
}

// Reset removes the named events, or all if there is no name, and returns how many it
// has removed.
func (e *Events) Reset(names ...string) (removed int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := len(e.byName)
	if len(names) == 0 {
		clear(e.byName)
	}
	for _, name := range names {
		delete(e.byName, name)
	}
	return before - len(e.byName)
}
