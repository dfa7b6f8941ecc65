package store

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/effects"
)

// Lock locks a set of shards, lowest first, so that callers cannot deadlock.
func (s *Store) Lock(set ShardSet) {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].lock()
	}
}

// LockOrCancel is like Lock until cancel is closed or sends. If it is still waiting then, it unlocks what it
// has locked and returns false. It locks a set that is free whatever cancel says. A nil cancel never cancels.
func (s *Store) LockOrCancel(set ShardSet, cancel <-chan struct{}) bool {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if !s.locks[i].lockUnless(cancel) {
			s.Unlock(set & (1<<i - 1))
			return false
		}
	}
	return true
}

// TryLock locks a set of shards if all of them are free, and otherwise locks nothing and returns false. It
// tries each shard once.
func (s *Store) TryLock(set ShardSet) bool {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if !s.locks[i].tryLock() {
			s.Unlock(set & (1<<i - 1))
			return false
		}
	}
	return true
}

// Unlock unlocks a set of shards. Any goroutine may call it.
func (s *Store) Unlock(set ShardSet) {
	for rest := uint64(set); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].unlock()
	}
}

// A shardLock is a mutex with cancelable waiting.
//
// Locking and unlocking cost one atomic operation each while nobody waits. Waiters queue in order of arrival,
// but a running goroutine may acquire a free lock before the first waiter has woken up, so that the lock does
// not lie idle meanwhile. That happens to a waiter only once: when it wakes up and finds the lock held, the
// next unlock hands the lock over to it. So a caller that wants all 64 shards gets each after a bounded
// number of others.
//
// Invariant: state is lockContended if and only if the queue is not empty. The fast paths fail then, and held
// says whether the lock is held.
type shardLock struct {
	state       atomic.Uint32
	held        bool       // valid if contended; protected by mu, like the queue
	noTouch     bool       // lookups leave the stamps alone; protected by the lock itself; see Store.NoTouch
	mu          sync.Mutex // held for a few instructions, never while waiting
	first, last *lockWaiter
	spare       *lockWaiter // has left the queue and can be reused; protected by mu
}

// States of a shardLock.
const (
	lockFree = iota
	lockHeld
	lockContended
)

// paddedLock keeps neighbouring locks out of each other's cache line.
type paddedLock struct {
	shardLock
	recorder *effects.Group // set by the holder of the lock; nil: nothing is recorded
	used     atomic.Int64   // bytes of the shard's keys, in all databases; changed under the lock
	overhead atomic.Int64   // likewise; see Memory
}

// A lockWaiter is a goroutine in the queue of a lock. The lock's mu protects every field except ready.
type lockWaiter struct {
	next, prev *lockWaiter
	ready      chan struct{} // buffered; a signal means: try again
	woken      bool          // a signal has been sent and not yet received
	passedOver bool          // woke up once and found the lock held
	owner      bool          // the lock was handed to it
}

// newWaiter returns the spare waiter or a new one. It requires mu. Spares belong to their lock: in a pool of
// the process, a channel made in a testing/synctest bubble could be used outside of it, which is a fatal
// error.
func (l *shardLock) newWaiter() *lockWaiter {
	w := l.spare
	if w == nil {
		return &lockWaiter{ready: make(chan struct{}, 1)}
	}
	l.spare = nil
	return w
}

// recycle makes w, which has left the queue, the spare waiter.
func (l *shardLock) recycle(w *lockWaiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = w
}

func (l *shardLock) lock() {
	if !l.state.CompareAndSwap(lockFree, lockHeld) {
		l.lockSlow(nil)
	}
}

func (l *shardLock) lockUnless(cancel <-chan struct{}) bool {
	return l.state.CompareAndSwap(lockFree, lockHeld) || l.lockSlow(cancel)
}

// tryLock acquires the lock if it is free, also while woken waiters are about to try.
func (l *shardLock) tryLock() bool {
	if l.state.CompareAndSwap(lockFree, lockHeld) {
		return true
	}
	if l.state.Load() != lockContended {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Load() != lockContended || l.held {
		return false
	}
	l.held = true
	return true
}

func (l *shardLock) unlock() {
	if !l.state.CompareAndSwap(lockHeld, lockFree) {
		l.unlockSlow()
	}
}

// spins is how often lockSlow tries before it parks: for a microsecond, in which most commands end. Parking
// costs much more than that, since a core without another goroutine to run sleeps, and takes some 50 us to
// come back: with 128 a second core gained 1.4 times, not 1.9. See docs/adr/0052.
const spins = 2048

// spinning reports whether the holder of a lock can run while another goroutine tries. It follows GOMAXPROCS,
// which the program or a new CPU quota can change: a caller that is about to park updates it.
var spinning atomic.Bool

func init() { updateSpinning() }

func updateSpinning() {
	if now := runtime.GOMAXPROCS(0) > 1; now != spinning.Load() {
		spinning.Store(now)
	}
}

func (l *shardLock) lockSlow(cancel <-chan struct{}) bool {
	if spinning.Load() {
		for range spins {
			if l.state.Load() == lockFree && l.state.CompareAndSwap(lockFree, lockHeld) {
				return true
			}
		}
	}
	w := l.enqueue()
	if w == nil {
		return true
	}
	updateSpinning()
	for {
		select {
		case <-w.ready:
			if l.claim(w) {
				l.recycle(w)
				return true
			}
		case <-cancel:
			got := l.cancel(w)
			l.recycle(w)
			return got
		}
	}
}

// enqueue appends the caller to the queue. It returns nil if the caller acquired the lock instead.
func (l *shardLock) enqueue() *lockWaiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.state.Load() != lockContended {
		if l.state.CompareAndSwap(lockFree, lockHeld) {
			return nil
		}
		if l.state.CompareAndSwap(lockHeld, lockContended) {
			l.held = true
		}
	}
	if !l.held {
		l.held = true
		return nil
	}
	w := l.newWaiter()
	*w = lockWaiter{ready: w.ready, prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	return w
}

// claim acquires the lock for w, which was woken, if possible.
func (l *shardLock) claim(w *lockWaiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.woken = false
	switch {
	case w.owner:
		return true
	case l.held:
		w.passedOver = true
		return false
	}
	l.held = true
	l.remove(w)
	return true
}

// cancel removes w from the queue. It reports whether the lock had already been handed to w.
func (l *shardLock) cancel(w *lockWaiter) (owner bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.woken {
		<-w.ready
	}
	if w.owner {
		return true
	}
	l.remove(w)
	if w.woken && !l.held && l.first != nil {
		l.first.wake() // pass the signal on
	}
	return false
}

func (l *shardLock) unlockSlow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.CompareAndSwap(lockHeld, lockFree) {
		return // the waiters have canceled meanwhile
	}
	if l.state.Load() == lockFree || !l.held {
		panic("store: unlock of a shard that nobody holds")
	}
	w := l.first
	if w.passedOver {
		w.owner = true
		l.remove(w)
	} else {
		l.held = false
	}
	w.wake()
}

// wake signals w, at most once until w has received it.
func (w *lockWaiter) wake() {
	if !w.woken {
		w.woken = true
		w.ready <- struct{}{}
	}
}

// remove removes w from the queue. If that empties the queue, state becomes what held says.
func (l *shardLock) remove(w *lockWaiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	switch {
	case l.first != nil:
	case l.held:
		l.state.Store(lockHeld)
	default:
		l.state.Store(lockFree)
	}
}
