package engine

import (
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// While a script is past busy-reply-threshold, sessions answer BUSY as in Redis,
// whichever shards the script holds, except to commands with the flag AllowBusy,
// which wait for no shard. A session that waits for a shard when the script passes
// the threshold gives up.

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
		// Shards are locked lowest first, so start again. The set only grows, so
		// this ends.
		l.store.Unlock(shards)
		shards = reach
	}
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

// waitForSpace waits while too much of the log waits for the disk. It reports false if
// the wait was ended.
func (m *calls) waitForSpace() bool {
	s := m.session
	if s.engine.storage.HasSpace() {
		return true
	}
	defer s.waitBegins().ends()
	return s.engine.storage.WaitForSpace(s.ending.canceler)
}
