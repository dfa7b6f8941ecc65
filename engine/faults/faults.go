package faults

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// Always is the Fault.Times of a permanent fault.
const Always = -1

// A Fault is a failure of the next commands of clients.
type Fault struct {
	Kind  Kind
	Times int    // number of commands affected; 0 means 1
	On    string // the one command affected; empty: those that Kind concerns; "*": all
	Text  string // the error reply of Refuse

	DelayNs      int64           // delays the effect, in real time
	Until        <-chan struct{} // delays the effect until it is closed; may be nil
	UntilRemoved bool            // delays the effect until the fault is removed, instead of Until
}

// An Injected is a Fault that was injected into a server.
type Injected struct {
	fault Fault
	set   *Set
	id    int64
	left  int           // protected by set.mu, like the fields below; Always: no end
	hits  int           // commands affected so far
	met   chan struct{} // closed at the first one
	held  chan struct{} // closed when the fault is removed; nil unless that ends its delays
}

// A Set holds the faults of a server. The zero value is empty. Its methods may be called
// concurrently.
type Set struct {
	active atomic.Int32 // faults that may affect further commands

	mu     sync.Mutex
	list   []*Injected // protected by mu, oldest first; includes those that are over
	lastID int64       // protected by mu
}

// Any reports whether a command may be affected.
func (s *Set) Any() bool { return s.active.Load() != 0 }

// maxFaults bounds a Set. Beyond it those that are over are forgotten, if no command waits for their removal.
const maxFaults = 1000

// Inject adds a fault. Among several the one injected first applies. It returns nil if there
// are too many faults.
func (s *Set) Inject(f Fault) *Injected {
	f.On = strings.ToLower(f.On)
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= maxFaults {
		s.list = slices.DeleteFunc(s.list, func(i *Injected) bool { return i.left == 0 && i.held == nil })
	}
	if len(s.list) >= maxFaults {
		return nil
	}
	s.lastID++
	i := &Injected{fault: f, set: s, id: s.lastID, left: f.Times, met: make(chan struct{})}
	if f.UntilRemoved {
		i.held = make(chan struct{})
		i.fault.Until = i.held
	}
	s.list = append(s.list, i)
	s.active.Add(1)
	return i
}

// Next returns the fault that applies to the next command, or nil, and counts it. c is nil
// for an unknown command.
func (s *Set) Next(c *commands.Command) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.list {
		if i.left == 0 || !i.fault.affects(c) {
			continue
		}
		if i.left != Always {
			if i.left--; i.left == 0 {
				s.active.Add(-1)
			}
		}
		if i.hits++; i.hits == 1 {
			close(i.met)
		}
		return i
	}
	return nil
}

// Clear removes all faults. Delays under way continue, except those until then.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.list {
		i.left = 0
		i.release()
	}
	s.list = nil
	s.active.Store(0)
}

// release ends the delays that last until the fault is removed. It requires that set.mu is held.
func (i *Injected) release() {
	if i.held != nil {
		close(i.held)
		i.held = nil
	}
}

// Outcome returns what becomes of a command that the fault affects, once it was delayed.
func (i *Injected) Outcome() Outcome {
	out := kinds[i.fault.Kind].outcome
	if i.fault.Kind == Refuse {
		out.Refusal = i.fault.Text
	}
	return out
}

// DelayNs returns for how long each effect is delayed, in nanoseconds of real time.
func (i *Injected) DelayNs() int64 { return i.fault.DelayNs }

// Until returns a channel whose closing ends the delay of each effect, or nil.
func (i *Injected) Until() <-chan struct{} { return i.fault.Until }

// Met returns a channel that is closed when the fault first affects a command, before any
// delay.
func (i *Injected) Met() <-chan struct{} { return i.met }

// Hits returns how many commands the fault has affected.
func (i *Injected) Hits() int {
	i.set.mu.Lock()
	defer i.set.mu.Unlock()
	return i.hits
}

// Remove removes the fault. Delays under way continue, except those until then.
func (i *Injected) Remove() {
	i.set.mu.Lock()
	defer i.set.mu.Unlock()
	i.set.remove(i)
}

// remove removes a fault. It requires that mu is held.
func (s *Set) remove(i *Injected) {
	if i.left != 0 {
		i.left = 0
		s.active.Add(-1)
	}
	i.release()
	s.list = slices.DeleteFunc(s.list, func(other *Injected) bool { return other == i })
}
