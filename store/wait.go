package store

import (
	"cmp"
	"container/list"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/dict"
)

// A Waiter queues at keys until something happens to one of them. Like a Watch, it is registered by key
// name.
//
// To serve a waiter or to end its waiting, call Claim first; only one call succeeds. A claimed waiter stays
// in its queues until RemoveWaiter, because the goroutine that served it may not hold the shards of all its
// keys.
type Waiter struct {
	Owner any // the caller's; not used by this package

	want    Want
	entries []queueEntry
	shards  ShardSet // of the keys
	target  ShardSet // shards of what serving it changes in addition
	claimed atomic.Bool
}

// A Want is what waiters wait for. Those of one key that want different things are different queues.
type Want uint8

const (
	// Existence is that the key comes into being.
	Existence Want = iota
	// Change is any change of the key. Serving a waiter that wants it may change all its keys.
	Change
)

// A waitKey is a key that waiters wait for.
type waitKey struct {
	db   int
	want Want
	key  string
}

type queueEntry struct {
	waitKey
	element *list.Element
}

// A waitQueue has the waiters at one key, longest waiting first.
type waitQueue struct {
	waiters list.List // of *Waiter
	ready   bool      // in waiting.ready
}

// A ReadyKey is a key to which happened what a client waited for.
type ReadyKey struct {
	DB   int
	Want Want
	Key  string
	seq  uint64 // order in which keys became ready
}

// waiting has the waiters of a store. Like Store.watched, it is keyed by database number, so Swap leaves it
// alone.
type waiting struct {
	// queues[i] and ready[i] belong to shard i.
	queues [NumShards]map[waitKey]*waitQueue
	ready  [NumShards][]ReadyKey
	// targets[i] belongs to shard i. It counts the waiters at keys of shard i by their targets.
	targets [NumShards]map[ShardSet]int

	// The counters below are changed with one of the waiter's shards held, so that they are exact for whoever
	// holds that shard.
	waiters    atomic.Int64 // waiters that have not left
	changes    atomic.Int64 // of these, waiters for a change
	changed    atomic.Int64 // keys in ready that have changed
	keys       atomic.Int64 // queues with waiters
	withTarget atomic.Int64 // waiters with a target
	clock      atomic.Uint64
}

// Shards returns the shards of the waiter's keys.
func (w *Waiter) Shards() ShardSet { return w.shards }

// Claim reports whether the caller is the first to end the waiting. It requires no shard.
func (w *Waiter) Claim() bool { return w.claimed.CompareAndSwap(false, true) }

// Wait appends w to the queues of those that wait for keys to exist. If target is not nil, serving w will
// change target too; its shard must be held as well. Wait or WaitForChange may be called once for each
// waiter.
func (db *DB) Wait(w *Waiter, keys [][]byte, target []byte) {
	db.enqueue(w, keys)
	if target != nil {
		db.store.waiting.setTarget(w, ShardOf(target))
	}
}

// WaitForChange appends w to the queues of those that wait for a change of keys. Since all shards are held,
// two waiters have the same order in every queue that both are in.
func (db *DB) WaitForChange(w *Waiter, keys [][]byte) {
	w.want = Change
	db.enqueue(w, keys)
	db.store.waiting.changes.Add(1)
	if w.shards&(w.shards-1) != 0 { // several
		db.store.waiting.setTarget(w, w.shards)
	}
}

func (db *DB) enqueue(w *Waiter, keys [][]byte) {
	ws := &db.store.waiting
	for _, k := range keys {
		wk := waitKey{db.id, w.want, string(k)}
		if slices.ContainsFunc(w.entries, func(e queueEntry) bool { return e.waitKey == wk }) {
			continue // named twice
		}
		i := shardIndex(dict.Hash(k))
		if ws.queues[i] == nil {
			ws.queues[i] = make(map[waitKey]*waitQueue)
		}
		q := ws.queues[i][wk]
		if q == nil {
			q = &waitQueue{}
			ws.queues[i][wk] = q
			ws.keys.Add(1)
		}
		w.entries = append(w.entries, queueEntry{wk, q.waiters.PushBack(w)})
		w.shards |= OneShard(i)
	}
	ws.waiters.Add(1)
}

func (ws *waiting) setTarget(w *Waiter, target ShardSet) {
	w.target = target
	ws.withTarget.Add(1)
	ws.countTarget(w, 1)
}

// countTarget adds by to the counts of w's target in the shards of its keys.
func (ws *waiting) countTarget(w *Waiter, by int) {
	for i := range ws.targets {
		if !w.shards.Has(i) {
			continue
		}
		if ws.targets[i] == nil {
			ws.targets[i] = make(map[ShardSet]int)
		}
		if ws.targets[i][w.target] += by; ws.targets[i][w.target] == 0 {
			delete(ws.targets[i], w.target)
		}
	}
}

// WaitedKeys returns how many keys have waiters. It requires no shard.
func (s *Store) WaitedKeys() int64 { return s.waiting.keys.Load() }

// ChangeWaiters returns how many waiters wait for a change. It requires no shard.
func (s *Store) ChangeWaiters() int64 { return s.waiting.changes.Load() }

// HasChanged reports whether a key has changed that a client waits for, and DrainReady has not returned it
// yet. It requires no shard.
func (s *Store) HasChanged() bool { return s.waiting.changed.Load() > 0 }

// WaitersForChange returns how many waiters wait for a change of key.
func (db *DB) WaitersForChange(key []byte) int {
	ws := &db.store.waiting
	if ws.changes.Load() == 0 {
		return 0
	}
	q := ws.queues[shardIndex(dict.Hash(key))][waitKey{db.id, Change, string(key)}]
	if q == nil {
		return 0
	}
	return q.waiters.Len()
}

// IsFirst reports whether w is the first in each of its queues. It requires w.Shards().
func (s *Store) IsFirst(w *Waiter) bool {
	return !slices.ContainsFunc(w.entries, func(e queueEntry) bool { return e.element.Prev() != nil })
}

// Signal marks the keys of w as ready. It requires w.Shards().
func (s *Store) Signal(w *Waiter) {
	for _, e := range w.entries {
		s.waiting.addReady(shardIndex(dict.HashString(e.key)), e.waitKey)
	}
}

// RemoveWaiter removes w from its queues, if it is in any. It requires w.Shards().
func (s *Store) RemoveWaiter(w *Waiter) {
	if w.entries == nil {
		return
	}
	ws := &s.waiting
	for _, e := range w.entries {
		queues := ws.queues[shardIndex(dict.HashString(e.key))]
		q := queues[e.waitKey]
		q.waiters.Remove(e.element)
		if q.waiters.Len() == 0 {
			delete(queues, e.waitKey)
			ws.keys.Add(-1)
		}
	}
	ws.waiters.Add(-1)
	if w.want == Change {
		ws.changes.Add(-1)
	}
	if w.target != 0 {
		ws.withTarget.Add(-1)
		ws.countTarget(w, -1)
	}
	w.entries = nil
}

// Affected returns the shards that may change as a consequence of changes in the given shards: these, and the
// targets of the waiters in them. Clients may wait for the targets too, so the caller locks the result and
// calls Affected again until it adds nothing.
func (s *Store) Affected(shards ShardSet) ShardSet {
	if s.waiting.withTarget.Load() == 0 {
		return shards
	}
	reach := shards
	for i := range s.waiting.targets {
		if !shards.Has(i) {
			continue
		}
		for target := range s.waiting.targets[i] {
			reach |= target
		}
	}
	return reach
}

// signalReady records that n's key was created, if a client waits for it.
func (db *DB) signalReady(n *Node) {
	if db.store.waiting.waiters.Load() > 0 {
		db.store.waiting.addReady(shardIndex(n.Hash()), waitKey{db.id, Existence, n.Key()})
	}
}

// signalChanged records that n's key has changed, if a client waits for that.
func (db *DB) signalChanged(n *Node) {
	if db.store.waiting.changes.Load() > 0 {
		db.store.waiting.addReady(shardIndex(n.Hash()), waitKey{db.id, Change, n.Key()})
	}
}

// signalAll records all keys of database id as changed that clients wait for. It requires AllShards.
func (s *Store) signalAll(id int) {
	if s.waiting.changes.Load() == 0 {
		return
	}
	for i := range s.waiting.queues {
		for wk := range s.waiting.queues[i] {
			if wk.db == id && wk.want == Change {
				s.waiting.addReady(i, wk)
			}
		}
	}
}

func (ws *waiting) addReady(shard int, wk waitKey) {
	q := ws.queues[shard][wk]
	if q == nil || q.ready {
		return
	}
	q.ready = true
	ws.ready[shard] = append(ws.ready[shard], ReadyKey{wk.db, wk.want, wk.key, ws.clock.Add(1)})
	if wk.want == Change {
		ws.changed.Add(1)
	}
}

// signalSwapped records the keys of database id that exist and that clients wait for. It requires AllShards.
func (s *Store) signalSwapped(id int) {
	for i := range s.waiting.queues {
		for wk := range s.waiting.queues[i] {
			if wk.db == id && wk.want == Existence &&
				s.dbs[id].shards[i].keys.GetString(dict.HashString(wk.key), wk.key) != nil {
				s.waiting.addReady(i, wk)
			}
		}
	}
}

// DrainReady returns the keys of the given shards that became ready since the last call, in that order. They
// may have been deleted since.
func (s *Store) DrainReady(shards ShardSet) []ReadyKey {
	ws := &s.waiting
	if ws.waiters.Load() == 0 {
		return nil
	}
	var out []ReadyKey
	for i := range ws.ready {
		if !shards.Has(i) || len(ws.ready[i]) == 0 {
			continue
		}
		for _, r := range ws.ready[i] {
			if q := ws.queues[i][waitKey{r.DB, r.Want, r.Key}]; q != nil {
				q.ready = false
			}
			if r.Want == Change {
				ws.changed.Add(-1)
			}
		}
		out = append(out, ws.ready[i]...)
		ws.ready[i] = nil
	}
	slices.SortFunc(out, func(a, b ReadyKey) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

// Waiters iterates over the waiters at a key, longest waiting first, claimed ones included.
func (s *Store) Waiters(k ReadyKey) iter.Seq[*Waiter] {
	return func(yield func(*Waiter) bool) {
		q := s.waiting.queues[shardIndex(dict.HashString(k.Key))][waitKey{k.DB, k.Want, k.Key}]
		if q == nil {
			return
		}
		for e := q.waiters.Front(); e != nil; e = e.Next() {
			if !yield(e.Value.(*Waiter)) {
				return
			}
		}
	}
}

// Claimed reports whether the waiting has ended.
func (w *Waiter) Claimed() bool { return w.claimed.Load() }
