package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// locks is how sessions lock shards, and what is left of those that could not.
type locks struct {
	store   *store.Store
	scripts *scripting.Engine
	torn    torn
	orphans orphans
	waits   waits
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

// A script that is past busy-reply-threshold when the process ends is killed. If it
// had written, memory holds half of what it was to do, and files must not: its
// effects, with those of the EXEC around it, are dropped, and its shards are torn.
// No command runs on a torn shard, its keys do not expire, and no snapshot begins.
// So the log ends with the last complete command, and a snapshot is from before.

// torn has the shards that hold half of a command.
type torn struct{ shards atomic.Uint64 }

func (t *torn) add(shards store.ShardSet) { t.shards.Or(uint64(shards)) }

// has reports whether one of shards is torn. They must be locked.
func (t *torn) has(shards store.ShardSet) bool { return store.ShardSet(t.shards.Load())&shards != 0 }

// any reports whether a shard is torn.
func (t *torn) any() bool { return t.shards.Load() != 0 }
