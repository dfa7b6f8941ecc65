package engine

import (
	"errors"
	"runtime"
	"sync"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// A snapshotKey is a key as it was when a snapshot began.
type snapshotKey struct {
	DB         int
	Key        string
	ExpireAtMs int64 // unix milliseconds; 0: never
	Value      any   // as commands.Frozen says; never a View
}

var (
	errSnapshotRunning = errors.New("another snapshot is being taken")
	errSnapshotBusy    = errors.New("a script past busy-reply-threshold is in the way")
	errSnapshotStopped = errors.New("the snapshot was stopped")
	errSnapshotLate    = errors.New("a command changed a key that its row does not name")
)

// snapshotSlice is how many nodes and buckets the walk looks at under one lock:
// some tens of microseconds.
const snapshotSlice = 128

// slicesPerRest is how many slices there are between two rests, with what is
// written of them.
const slicesPerRest = 3

// viewSlice is how many fields or members of one value are copied while every
// shard is held.
const viewSlice = 256

// snapshot hands every key to out as it was when begin was called, which is with
// every shard held. Clients are served meanwhile: the walk holds one shard for a
// moment at a time, and what is about to change a key that has yet to come leaves
// a frozen value of it.
//
// out is called by this goroutine, with no shard held: it may write files. Its
// first error ends the snapshot, and so does stop, which may be nil; begin is
// not called where there is no snapshot at all.
func (e *Engine) snapshot(stop <-chan struct{}, begin func(), out func(k snapshotKey) error) error {
	if !e.snapshots.TryLock() {
		return errSnapshotRunning
	}
	defer e.snapshots.Unlock()
	if old := e.store.Snapshot(); old != nil && !e.walk(old, stop, nil) { // one that was stopped
		return errSnapshotStopped
	}
	if e.lockUnlessBusy(store.AllShards) != nil {
		return errSnapshotBusy
	}
	if e.torn.any() {
		e.store.Unlock(store.AllShards)
		return errTorn
	}
	var handed handedOut
	sn := e.store.BeginSnapshot(handed.add)
	begin()
	e.store.Unlock(store.AllShards)

	var failed error
	walked := e.walk(sn, stop, func() {
		for _, k := range handed.take() {
			if view, ok := k.Value.(commands.View); ok {
				if !e.complete(view, stop) {
					return
				}
				k.Value = view.Value()
			}
			if failed != nil {
				continue
			}
			if failed = out(k); failed != nil {
				sn.Abort()
			}
		}
	})
	switch {
	case failed != nil:
		return failed
	case !walked || isClosed(stop):
		return errSnapshotStopped
	case sn.Late() > 0:
		return errSnapshotLate
	}
	return nil
}

// walk takes a snapshot to its end, and calls between after each slice. It
// reports false where it was stopped before: the snapshot is aborted then.
func (e *Engine) walk(sn *store.Snapshot, stop <-chan struct{}, between func()) bool {
	p := pace{engine: e, every: slicesPerRest * snapshotSlice}
	for shard := range store.NumShards {
		for more := true; more; {
			if isClosed(stop) || !e.store.LockUnless(1<<shard, stop) {
				sn.Abort()
				return false
			}
			more = sn.Step(shard, snapshotSlice)
			e.store.Unlock(1 << shard)
			if between != nil {
				between()
			}
			p.walked(snapshotSlice)
		}
	}
	return true
}

// complete takes a view to its end, unless it is stopped. It waits for a shard
// with those below held: who wants these meanwhile waits as behind any command
// of all shards, and behind a script past busy-reply-threshold answers BUSY, as
// everybody does.
func (e *Engine) complete(view commands.View, stop <-chan struct{}) bool {
	for more := true; more; {
		if isClosed(stop) || !e.store.LockUnless(store.AllShards, stop) {
			return false
		}
		more = view.Step(viewSlice)
		e.store.Unlock(store.AllShards)
		runtime.Gosched()
	}
	return true
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// handedOut are keys on their way from whoever handed them out to the goroutine
// that takes the snapshot.
type handedOut struct {
	mu   sync.Mutex
	keys []snapshotKey // protected by mu

	taken []snapshotKey // what take returned last
}

// add is called with the key's shard held.
func (h *handedOut) add(db int, n *store.Node) {
	k := snapshotKey{DB: db, Key: n.Key(), Value: commands.Frozen(store.DataOf(n))}
	k.ExpireAtMs, _ = n.Value.ExpireAtMs()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = append(h.keys, k)
}

// take returns what has come since, until it is called again.
func (h *handedOut) take() []snapshotKey {
	clear(h.taken)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken, h.keys = h.keys, h.taken[:0]
	return h.taken
}

// preserveFor hands out what serving a waiter at a key is about to change.
func (e *Engine) preserveFor(w *commands.Wait, db *store.DB, key []byte) {
	if e.store.Snapshot() == nil {
		return
	}
	db.Preserve(key)
	if w.Target != nil {
		db.Preserve(w.Target)
	}
}
