// Package contention simulates cores that wait for the locks of shards: what 8, 16 and 64 cores give, where
// there are fewer.
//
// This package is internal to zlimit: it may change in any release.
package contention

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
)

// A load is cores that repeat a call, each with one goroutine. A call works without a
// lock, then locks a shard and works under it. Times are nanoseconds.
type load struct {
	cores, shards int
	outside, held float64
	// transfer is what a call under the lock takes longer if another core held that lock
	// before: its lines are in that core's cache.
	transfer float64
	spin     float64 // how long a waiter spins before it parks
	wake     float64 // from the signal to a parked waiter until it runs
	// hottest is the share of the calls that lock the first shard; 0: as the others.
	hottest float64
}

// A speed is the result of a simulation.
type speed struct {
	up      float64 // calls in a time, by those of one core
	waiting float64 // share of the cores' time spent waiting for locks
	parked  float64 // share of calls that parked
}

// simulate runs calls calls, and compares their speed with that of one core without
// locks of others. It is deterministic.
func (c load) simulate(calls int) speed {
	s := simulation{
		load: c, random: rand.New(rand.NewPCG(1, 2)), locks: make([]simulatedLock, c.shards),
		cores: make([]simulatedCore, c.cores), left: calls,
	}
	for i := range s.locks {
		s.locks[i].last = -1
	}
	for i := range s.cores {
		heap.Push(&s.events, event{at: s.random.Float64() * (c.outside + c.held), core: i, what: requests})
	}
	for s.left > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		switch e.what {
		case requests:
			s.request(e.core)
		case releases:
			s.release(e.core)
		case wakes:
			s.wakeUp(e.core)
		}
	}
	alone := float64(calls) * (c.outside + c.held)
	return speed{
		up: alone / s.now, waiting: s.waited / (s.now * float64(c.cores)),
		parked: float64(s.parks) / float64(calls),
	}
}

type simulation struct {
	load
	random *rand.Rand
	locks  []simulatedLock
	cores  []simulatedCore
	events events
	now    float64
	left   int // calls
	waited float64
	parks  int
}

type simulatedLock struct {
	held  bool
	last  int   // the core that held it last, -1: none
	queue []int // cores, in order of arrival
}

type simulatedCore struct {
	lock  int
	since float64 // when it began to wait
	// As in store/lock.go: it was signalled and does not run yet; it woke up once and found
	// the lock held; the lock was handed to it.
	woken, passedOver, owner bool
}

// request is a core's end of the work without a lock.
func (s *simulation) request(core int) {
	k := &s.cores[core]
	*k = simulatedCore{lock: s.random.IntN(s.shards), since: s.now}
	if s.hottest > 0 && s.random.Float64() < s.hottest {
		k.lock = 0
	}
	if l := &s.locks[k.lock]; l.held {
		l.queue = append(l.queue, core)
		return
	}
	s.acquire(core)
}

// acquire gives a free lock to a core.
func (s *simulation) acquire(core int) {
	k := &s.cores[core]
	l := &s.locks[k.lock]
	s.waited += s.now - k.since
	took := s.held
	if l.last >= 0 && l.last != core {
		took += s.transfer
	}
	l.held, l.last = true, core
	heap.Push(&s.events, event{s.now + took, core, releases})
}

// release ends a call. The first waiter that still spins gets the lock; otherwise the
// first parked one is woken, and until it runs whoever comes may lock.
func (s *simulation) release(core int) {
	s.left--
	l := &s.locks[s.cores[core].lock]
	l.held = false
	heap.Push(&s.events, event{s.now + s.outside, core, requests})
	if len(l.queue) == 0 {
		return
	}
	first := l.queue[0]
	k := &s.cores[first]
	if k.passedOver { // it is handed the lock, and wakes up as its holder
		l.queue = l.queue[1:]
		l.held, k.owner = true, true
		heap.Push(&s.events, event{s.now + s.wake, first, wakes})
		return
	}
	if i := slices.IndexFunc(l.queue, func(w int) bool { return s.now-s.cores[w].since <= s.spin }); i >= 0 {
		spinner := l.queue[i]
		l.queue = slices.Delete(l.queue, i, i+1)
		s.acquire(spinner)
		return
	}
	if !k.woken {
		k.woken = true
		s.parks++
		heap.Push(&s.events, event{s.now + s.wake, first, wakes})
	}
}

// wakeUp is a parked waiter that runs again.
func (s *simulation) wakeUp(core int) {
	k := &s.cores[core]
	l := &s.locks[k.lock]
	k.woken = false
	if l.held && !k.owner {
		k.passedOver = true
		return
	}
	l.queue = slices.DeleteFunc(l.queue, func(w int) bool { return w == core })
	s.acquire(core)
}

// An event is what a core does at an instant.
type event struct {
	at   float64
	core int
	what occurrence
}

type occurrence uint8

const (
	requests occurrence = iota
	releases
	wakes
)

// events is a heap by time.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].core, e[j].core)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
