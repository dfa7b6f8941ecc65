package store

import (
	"cmp"
	"container/list"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/dict"
)

// A Waiter queues at keys that do not exist until one of them does. Like a Watch, it is registered by key
// name.
//
// To serve a waiter or to end its waiting, call Claim first; only one call succeeds. A claimed waiter stays
// in its queues until Leave, because the goroutine that served it holds the shard of only one of its keys.
type Waiter struct {
	Owner any // the caller's; not used by this package

	entries []queueEntry
	shards  ShardSet // of the keys
	target  ShardSet // shard of the key that serving it changes in addition
	claimed atomic.Bool
}

// A waitKey is a key that waiters wait for.
type waitKey struct {
	db  int
	key string
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

// A ReadyKey is a key that was created while a client waited for it.
type ReadyKey struct {
	DB  int
	Key string
	seq uint64 // order in which keys became ready
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
	keys       atomic.Int64 // keys with waiters
	withTarget atomic.Int64 // of these, waiters with a target
	clock      atomic.Uint64
}

// Shards returns the shards of the waiter's keys.
func (w *Waiter) Shards() ShardSet { return w.shards }

// Claim reports whether the caller is the first to end the waiting. It requires no shard.
func (w *Waiter) Claim() bool { return w.claimed.CompareAndSwap(false, true) }

// Wait appends w to the queues at keys. If target is not nil, serving w will change target too; its shard
// must be held as well. Wait may be called once for each waiter.
func (db *DB) Wait(w *Waiter, keys [][]byte, target []byte) {
	ws := &db.store.waiting
	for _, k := range keys {
		wk := waitKey{db.id, string(k)}
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
	if target == nil {
		return
	}
	w.target = ShardOf(target)
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

// RemoveWaiter removes w from its queues. It requires w.Shards().
func (s *Store) RemoveWaiter(w *Waiter) {
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
		db.store.waiting.addReady(shardIndex(n.Hash()), waitKey{db.id, n.Key()})
	}
}

func (ws *waiting) addReady(shard int, wk waitKey) {
	q := ws.queues[shard][wk]
	if q == nil || q.ready {
		return
	}
	q.ready = true
	ws.ready[shard] = append(ws.ready[shard], ReadyKey{wk.db, wk.key, ws.clock.Add(1)})
}

// signalSwapped records the keys of database id that exist and that clients wait for. It requires AllShards.
func (s *Store) signalSwapped(id int) {
	for i := range s.waiting.queues {
		for wk := range s.waiting.queues[i] {
			if wk.db == id && s.dbs[id].shards[i].keys.GetString(dict.HashString(wk.key), wk.key) != nil {
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
			if q := ws.queues[i][waitKey{r.DB, r.Key}]; q != nil {
				q.ready = false
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
		q := s.waiting.queues[shardIndex(dict.HashString(k.Key))][waitKey{k.DB, k.Key}]
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
