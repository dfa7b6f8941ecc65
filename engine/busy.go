package engine

import (
	"slices"
	"sync"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// While a script is past busy-reply-threshold, sessions answer BUSY as in Redis,
// whichever shards the script holds, except to commands with the flag AllowBusy,
// which wait for no shard. A session that waits for a shard when the script passes
// the threshold gives up.

// End cancels loading and DEBUG SLEEP, and makes scripts fail that are past
// busy-reply-threshold or reach it. From then on the engine is not Ready. Call it before
// closing the sessions.
func (e *Engine) End() {
	e.life.ending.Store(true)
	e.storage.CancelLoad()
	e.scripts.StopAll()
}

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
		// Shards are locked lowest first, so start again. The set only grows, so
		// this ends.
		l.store.Unlock(shards)
		shards = reach
	}
}

// refuseBusy refuses a command while a script is past the threshold. The script may be one of a log that
// DEBUG LOADAOF reads.
func refuseBusy(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if busy := s.engine.scripts.Busy(); busy != nil {
		return refuseBehind(s, busy, cmd, args)
	}
	return resp.None
}

// refuseBehind is refuseBusy for a script that was past the threshold.
func refuseBehind(s *Session, busy *scripting.Busy, cmd *commands.Command, args [][]byte) resp.Value {
	switch {
	case s.engine.storage.Reloading() && s.tx.anyRuns(cmd, args, (*commands.Command).NeedsKeyspace):
		return errLoading
	case !cmd.Is(commands.AllowBusy):
		return resp.Error(busy.Reply)
	}
	return resp.None
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

// removeOrphans removes those orphans from their keys whose shards are free.
func (l *locks) removeOrphans() {
	o := &l.orphans
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watches = slices.DeleteFunc(o.watches, func(w *store.Watch) bool {
		shards := w.Shards()
		if !l.store.TryLock(shards) {
			return false
		}
		l.store.Unwatch(w)
		l.store.Unlock(shards)
		return true
	})
	o.waiters = slices.DeleteFunc(o.waiters, func(w *store.Waiter) bool {
		shards := w.Shards()
		if !l.store.TryLock(shards) {
			return false
		}
		l.store.RemoveWaiter(w)
		l.store.Unlock(shards)
		return true
	})
}

// executeWhileBusy runs a command whose shards a script holds. The commands that
// Redis runs all the same need shards only for watched keys: these are unwatched
// later, and a key that WATCH names now counts as changed.
func (k keyspace) executeWhileBusy(cmd *commands.Command, args [][]byte, busy *scripting.Busy) resp.Value {
	s := k.session
	if refusal := refuseBehind(s, busy, cmd, args); refusal.IsError() {
		return s.tx.reject(cmd, refusal)
	}
	if len(cmd.Keys) == 0 { // all but WATCH
		s.tx.orphanWatch()
	}
	k.begin()
	s.work.req.locked = false
	defer k.end(0)
	return s.work.calls.measure(cmd, args)
}
