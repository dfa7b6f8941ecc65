package store

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/effects"
)

// Lock takes the locks of a set of shards, lowest first: two callers can wait
// for each other only in that order, so never in a circle.
func (s *Store) Lock(set ShardSet) {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].lock()
	}
}

// LockUnless is Lock until giveUp is closed or sends: then, if it still waits,
// it returns what it has taken and reports false. A set that is free is taken
// whatever giveUp says, so that a closed channel makes it an attempt without
// waiting. nil is never closed.
func (s *Store) LockUnless(set ShardSet, giveUp <-chan struct{}) bool {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if !s.locks[i].lockUnless(giveUp) {
			s.Unlock(set & (1<<i - 1))
			return false
		}
	}
	return true
}

// TryLock is Lock if every lock is free, and otherwise locks nothing and reports
// false.
func (s *Store) TryLock(set ShardSet) bool { return s.LockUnless(set, alwaysClosed) }

var alwaysClosed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Unlock gives the locks of a set of shards back. Any goroutine may do so.
func (s *Store) Unlock(set ShardSet) {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].unlock()
	}
}

// A shardLock is a mutex whose waiting can be given up.
//
// Taking and returning it costs one atomic operation each while nobody waits.
// Those who must wait stand in a queue, first come first served, except that a
// lock which falls free may be taken by whoever runs just then: kept for a
// goroutine that has yet to be woken, it would lie idle meanwhile. The first in
// the queue loses it so only once: when it comes and finds the lock taken, the
// next unlock hands it over. Who wants all 64 gets each after a bounded number
// of others, whatever these do.
//
// Invariant: state is contended while and only while the queue is not empty.
// Then the fast paths stay out, and whether the lock is taken stands in taken.
type shardLock struct {
	state       atomic.Uint32
	taken       bool       // where contended; protected by mu, as is the queue
	noTouch     bool       // who holds the lock leaves no marks of use: see Store.NoTouch
	mu          sync.Mutex // held for a few instructions, never while waiting
	first, last *queued
	spare       *queued // one that left the queue, for the next to come; protected by mu
}

// States of a shardLock.
const (
	lockFree = iota
	lockTaken
	lockContended
)

// paddedLock keeps neighbouring locks out of one cache line.
type paddedLock struct {
	shardLock
	recorder *effects.Group // of who holds the lock; nil: it records nothing
	used     atomic.Int64   // what the shard's keys take, in all databases; changed under the lock
	overhead atomic.Int64   // likewise: see Memory
}

// A queued is a goroutine in the queue of a lock. All but ready is protected by
// the lock's mu.
type queued struct {
	next, prev *queued
	ready      chan struct{} // one signal at a time: look again
	called     bool          // a signal is on its way
	passedOver bool          // came once, and found the lock taken
	owner      bool          // the lock was handed to it
}

// newQueued returns the spare one or a new one. It requires mu. Spares belong to
// their lock: in a pool of the process a channel made in a bubble of
// testing/synctest would come into other hands, which ends the process.
func (l *shardLock) newQueued() *queued {
	q := l.spare
	if q == nil {
		return &queued{ready: make(chan struct{}, 1)}
	}
	l.spare = nil
	return q
}

// keep makes q, which has left the queue, the spare one.
func (l *shardLock) keep(q *queued) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = q
}

func (l *shardLock) lock() {
	if !l.state.CompareAndSwap(lockFree, lockTaken) {
		l.lockSlowly(nil)
	}
}

func (l *shardLock) lockUnless(giveUp <-chan struct{}) bool {
	return l.state.CompareAndSwap(lockFree, lockTaken) || l.lockSlowly(giveUp)
}

func (l *shardLock) unlock() {
	if !l.state.CompareAndSwap(lockTaken, lockFree) {
		l.unlockSlowly()
	}
}

// spins is how often a taken lock is looked at before its caller lies down:
// about as long as most commands take.
const spins = 128

func (l *shardLock) lockSlowly(giveUp <-chan struct{}) bool {
	if runtime.NumCPU() > 1 {
		for range spins {
			if l.state.Load() == lockFree && l.state.CompareAndSwap(lockFree, lockTaken) {
				return true
			}
		}
	}
	q := l.enqueue()
	if q == nil {
		return true
	}
	for {
		select {
		case <-q.ready:
			if l.claim(q) {
				l.keep(q)
				return true
			}
		case <-giveUp:
			got := l.leave(q)
			l.keep(q)
			return got
		}
	}
}

// enqueue puts the caller into the queue, or returns nil where the lock has
// fallen free and is the caller's now.
func (l *shardLock) enqueue() *queued {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.state.Load() != lockContended {
		if l.state.CompareAndSwap(lockFree, lockTaken) {
			return nil
		}
		if l.state.CompareAndSwap(lockTaken, lockContended) {
			l.taken = true
		}
	}
	if !l.taken {
		l.taken = true
		return nil
	}
	q := l.newQueued()
	*q = queued{ready: q.ready, prev: l.last}
	if l.last == nil {
		l.first = q
	} else {
		l.last.next = q
	}
	l.last = q
	return q
}

// claim makes the lock q's, who was called, if it can be had.
func (l *shardLock) claim(q *queued) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.called = false
	switch {
	case q.owner:
		return true
	case l.taken:
		q.passedOver = true
		return false
	}
	l.taken = true
	l.remove(q)
	return true
}

// leave takes q out of the queue, unless the lock has been handed to it.
func (l *shardLock) leave(q *queued) (owner bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.called {
		<-q.ready
	}
	if q.owner {
		return true
	}
	l.remove(q)
	if q.called && !l.taken && l.first != nil {
		l.first.call() // what q was called for
	}
	return false
}

func (l *shardLock) unlockSlowly() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.CompareAndSwap(lockTaken, lockFree) {
		return // those who waited have given up meanwhile
	}
	if l.state.Load() == lockFree || !l.taken {
		panic("store: unlock of a shard that nobody holds")
	}
	q := l.first
	if q.passedOver {
		q.owner = true
		l.remove(q)
	} else {
		l.taken = false
	}
	q.call()
}

// call wakes q, once until it has come.
func (q *queued) call() {
	if !q.called {
		q.called = true
		q.ready <- struct{}{}
	}
}

// remove takes q out of the queue. With the last the lock leaves the contended
// state for what taken says.
func (l *shardLock) remove(q *queued) {
	if q.prev == nil {
		l.first = q.next
	} else {
		q.prev.next = q.next
	}
	if q.next == nil {
		l.last = q.prev
	} else {
		q.next.prev = q.prev
	}
	switch {
	case l.first != nil:
	case l.taken:
		l.state.Store(lockTaken)
	default:
		l.state.Store(lockFree)
	}
}
