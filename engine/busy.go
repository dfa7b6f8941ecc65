package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// While a script is past busy-reply-threshold, sessions answer BUSY, as Redis
// does, whichever shards the script holds; except to commands that are flagged
// AllowBusy, which wait for no shard. Who waited for one already gives up when
// the script passes the threshold.

// scriptLimits are directives as CONFIG SET last left them.
type scriptLimits struct{ busyAfterMs, memory atomic.Int64 }

// End makes scripts that are past busy-reply-threshold, or get there, fail, and
// gives up loading. It is for the owner who is about to close the sessions.
func (e *Engine) End() {
	e.storage.CancelLoad()
	e.scripts.End()
}

// lockUnlessBusy takes the locks of a set of shards. Where a script past the
// threshold is in the way it takes none and returns what to answer.
func (e *Engine) lockUnlessBusy(shards store.ShardSet) *scripting.Busy {
	if e.store.TryLock(shards) {
		return nil
	}
	for {
		change := e.scripts.BusyChange()
		if e.store.LockUnless(shards, change) {
			return nil
		}
		if busy := e.scripts.Busy(); busy != nil {
			return busy
		}
	}
}

// executeWhileBusy answers a command whose shards cannot be had. What Redis
// serves all the same needs them for watched keys only: those are dropped
// later, and one that WATCH names now counts as changed, as it may be.
func (s *Session) executeWhileBusy(cmd *commands.Command, args [][]byte, busy *scripting.Busy) resp.Value {
	if !cmd.Is(commands.AllowBusy) {
		return s.reject(cmd, resp.Error(busy.Reply))
	}
	if len(cmd.Keys) == 0 { // all but WATCH
		s.forsake()
	}
	s.begin()
	s.locked = false
	defer s.end(0)
	return s.call(cmd, args)
}

// forsaken are watches and waiters whose sessions have done with them, and whose
// keys' shards could not be had.
type forsaken struct {
	mu      sync.Mutex
	watches []*store.Watch
	waiters []*store.Waiter // nobody serves them: they are claimed
}

func (f *forsaken) addWaiter(w *store.Waiter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters = append(f.waiters, w)
}

// forsake gives the session's watch up without its shards.
func (s *Session) forsake() {
	if s.watch.Shards() == 0 {
		return
	}
	f := &s.engine.forsaken
	f.mu.Lock()
	f.watches = append(f.watches, s.watch)
	f.mu.Unlock()
	s.watch = &store.Watch{Owner: s}
}

// dropForsaken takes what is forsaken, and whose shards are free, off its keys.
func (e *Engine) dropForsaken() {
	f := &e.forsaken
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.watches[:0]
	for _, w := range f.watches {
		if !e.store.TryLock(w.Shards()) {
			kept = append(kept, w)
			continue
		}
		shards := w.Shards()
		e.store.Unwatch(w)
		e.store.Unlock(shards)
	}
	clear(f.watches[len(kept):])
	f.watches = kept
	f.waiters = slices.DeleteFunc(f.waiters, func(w *store.Waiter) bool {
		shards := w.Shards()
		free := e.store.TryLock(shards)
		if free {
			e.store.Leave(w)
			e.store.Unlock(shards)
		}
		return free
	})
}
