package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// While a script is past busy-reply-threshold, sessions answer BUSY as in Redis, whichever shards the script
// holds, except to commands with the flag AllowBusy, which wait for no shard. A session that waits for a
// shard when the script passes the threshold gives up.

// locks is how sessions lock shards, and what is left of those that could not.
type locks struct {
	store   *store.Store
	scripts *scripting.Engine
	torn    torn
	orphans orphans
	waits   waits
}

// lockUnlessBusy locks a set of shards for a session, or for none if s is nil. If a
// script past the threshold is in the way it locks none and returns the script, except for a
// session that runs what a master sends: that waits.
func (l *locks) lockUnlessBusy(s *Session, shards store.ShardSet) *scripting.Busy {
	if l.store.TryLock(shards) {
		return nil
	}
	defer s.waitBegins().ends()
	waits := s != nil && s.side.follows != nil
	for {
		change := l.scripts.BusyChange()
		if l.store.LockOrCancel(shards, change) {
			return nil
		}
		if busy := l.scripts.Busy(); busy != nil && !waits {
			return busy
		}
	}
}

// lock locks a command's shards and those that serving blocked sessions at their
// keys may change. It returns what it has locked. If a script past
// busy-reply-threshold is in the way it locks nothing and returns the script.
func (l *locks) lock(s *Session, shards store.ShardSet) (store.ShardSet, *scripting.Busy) {
	for {
		if busy := l.lockUnlessBusy(s, shards); busy != nil {
			return 0, busy
		}
		reach := l.store.Affected(shards)
		if reach == shards {
			return shards, nil
		}
		// Shards are locked lowest first, so start again. The set only grows, so this ends.
		l.store.Unlock(shards)
		shards = reach
	}
}

// removeOrphans removes those orphans from their keys whose shards are free.
func (l *locks) removeOrphans() {
	o := &l.orphans
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watches = slices.DeleteFunc(o.watches, func(w *store.Watch) bool {
		return l.ifFree(w.Shards(), func() { l.store.Unwatch(w) })
	})
	o.waiters = slices.DeleteFunc(o.waiters, func(w *store.Waiter) bool {
		return l.ifFree(w.Shards(), func() { l.store.RemoveWaiter(w) })
	})
}

// ifFree calls fn with shards locked if nobody holds one of them, and reports whether it has.
func (l *locks) ifFree(shards store.ShardSet, fn func()) bool {
	if !l.store.TryLock(shards) {
		return false
	}
	fn()
	l.store.Unlock(shards)
	return true
}

// orphans are watches and waiters that their sessions no longer need, but could not
// remove from their keys because the shards were locked.
type orphans struct {
	mu      sync.Mutex
	watches []*store.Watch
	waiters []*store.Waiter // claimed, so no session is served for them
}

func (o *orphans) addWaiter(w *store.Waiter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiters = append(o.waiters, w)
}

// orphanWatch replaces the session's watch without locking its shards.
func (t *transaction) orphanWatch() {
	s := t.session
	if t.watch.Shards() == 0 {
		return
	}
	o := &s.engine.locks.orphans
	o.mu.Lock()
	o.watches = append(o.watches, t.watch)
	o.mu.Unlock()
	t.watch = &store.Watch{Owner: s}
	s.shown.countNames()
}

// A script that is past busy-reply-threshold when the process ends is killed. If it had written, memory holds
// half of what it was to do, and files must not: its effects, with those of the EXEC around it, are dropped,
// and its shards are torn. No command runs on a torn shard, its keys do not expire, and no snapshot begins.
// So the log ends with the last complete command, and a snapshot is from before.

// torn has the shards that hold half of a command.
type torn struct{ shards atomic.Uint64 }

func (t *torn) add(shards store.ShardSet) { t.shards.Or(uint64(shards)) }

// has reports whether one of shards is torn. They must be locked.
func (t *torn) has(shards store.ShardSet) bool { return store.ShardSet(t.shards.Load())&shards != 0 }

// any reports whether a shard is torn.
func (t *torn) any() bool { return t.shards.Load() != 0 }

// A waiting is a wait of the session during a call or after it, which does not count.
type waiting struct {
	session *Session // nil: nobody's
	startUs int64
}

// waitBegins is called when the session has to wait. s may be nil.
func (s *Session) waitBegins() waiting {
	if s == nil {
		return waiting{}
	}
	s.leave()
	return waiting{s, s.engine.clock.MonotonicUs()}
}

// leave says that the session is about to wait.
func (s *Session) leave() {
	if s.peer.Waits != nil {
		s.peer.Waits()
	}
}

// ends ends the wait.
func (w waiting) ends() {
	if w.session != nil {
		w.session.work.calls.last.startUs += w.session.engine.clock.MonotonicUs() - w.startUs
	}
}

// waitForSpace waits while too much of the log waits for the disk. It reports false if the wait was ended.
func (m *calls) waitForSpace() bool {
	s := m.session
	if s.engine.storage.HasSpace() {
		return true
	}
	defer s.waitBegins().ends()
	return s.engine.storage.WaitForSpace(s.ending.canceler)
}
