package store

import (
	"cmp"
	"container/list"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/dict"
)

// A Waiter stands in line at keys that are not there, until one of them is. It
// is registered by name, like a Watch: an absent key has waiters too.
//
// Whoever wants to end the waiting, by serving it or by giving it up, claims it
// first; the one whose claim succeeds may. A claimed waiter is passed over, and
// stays in its lines until Leave: the one who served it holds the shard of one
// of its keys only.
type Waiter struct {
	Owner any // what waits, for the one who serves it

	places  []place
	shards  ShardSet // of the keys
	target  ShardSet // shard of a key that serving it changes besides
	claimed atomic.Bool
}

type place struct {
	watchKey
	element *list.Element
}

// line is the waiters at one key, longest waiting first.
type line struct {
	waiters list.List // of *Waiter
	ready   bool      // noted in readyKeys
}

// ReadyKey is a key that came into being while somebody waited for it.
type ReadyKey struct {
	DB    int
	Key   string
	since uint64 // the order in which keys became ready
}

// waiting is the waiters of a store. Like watched, they belong to numbers of
// databases, not to their contents.
type waiting struct {
	// lines[i] and ready[i] belong to shard i.
	lines [NumShards]map[watchKey]*line
	ready [NumShards][]ReadyKey
	// targets[i], which belongs to shard i, counts for each shard the waiters
	// at keys of shard i that change that shard when they are served.
	targets [NumShards]map[ShardSet]int

	// What follows is written with a shard held in which the waiter stands, so
	// that who holds that shard reads it true.
	waiters atomic.Int64 // that have not left
	movers  atomic.Int64 // those of them that have a target
	clock   atomic.Uint64
}

// Shards returns the shards of the waiter's keys, which must be held for Leave.
func (w *Waiter) Shards() ShardSet { return w.shards }

// Claim reports whether the caller is the first to end the waiting. It needs no
// shard.
func (w *Waiter) Claim() bool { return w.claimed.CompareAndSwap(false, true) }

// Wait puts w at the end of the lines at keys. Serving it will change target
// too, where that is not nil. The shards of all of them must be held. A waiter
// waits once.
func (db *DB) Wait(w *Waiter, keys [][]byte, target []byte) {
	all := &db.store.waiting
	for _, k := range keys {
		wk := watchKey{db.id, string(k)}
		if slices.ContainsFunc(w.places, func(p place) bool { return p.watchKey == wk }) {
			continue // a key that is named twice
		}
		i := dict.Hash(k) >> (hashBits - shardBits)
		if all.lines[i] == nil {
			all.lines[i] = make(map[watchKey]*line)
		}
		l := all.lines[i][wk]
		if l == nil {
			l = &line{}
			all.lines[i][wk] = l
		}
		w.places = append(w.places, place{wk, l.waiters.PushBack(w)})
		w.shards |= 1 << i
	}
	all.waiters.Add(1)
	if target == nil {
		return
	}
	w.target = ShardOf(target)
	all.movers.Add(1)
	all.aim(w, 1)
}

// aim counts the waiter's target in the shards of its keys.
func (all *waiting) aim(w *Waiter, by int) {
	for i := range all.targets {
		if w.shards&(1<<i) == 0 {
			continue
		}
		if all.targets[i] == nil {
			all.targets[i] = make(map[ShardSet]int)
		}
		if all.targets[i][w.target] += by; all.targets[i][w.target] == 0 {
			delete(all.targets[i], w.target)
		}
	}
}

// Leave takes w out of its lines. w.Shards() must be held.
func (s *Store) Leave(w *Waiter) {
	all := &s.waiting
	for _, p := range w.places {
		lines := all.lines[dict.HashString(p.key)>>(hashBits-shardBits)]
		l := lines[p.watchKey]
		l.waiters.Remove(p.element)
		if l.waiters.Len() == 0 {
			delete(lines, p.watchKey)
		}
	}
	all.waiters.Add(-1)
	if w.target != 0 {
		all.movers.Add(-1)
		all.aim(w, -1)
	}
	w.places = nil
}

// Reach returns the shards that serving waiters may change where the given
// shards, which must be held, change: these, and those that the waiters in them
// aim at. As what they change may be waited for in its turn, the caller locks
// the result and asks again until nothing is added.
func (s *Store) Reach(shards ShardSet) ShardSet {
	if s.waiting.movers.Load() == 0 {
		return shards
	}
	reach := shards
	for i := range s.waiting.targets {
		if shards&(1<<i) == 0 {
			continue
		}
		for target := range s.waiting.targets[i] {
			reach |= target
		}
	}
	return reach
}

// appeared notes that a key has come into being, if somebody waits for it.
func (db *DB) appeared(n *Node) {
	if db.store.waiting.waiters.Load() > 0 {
		db.store.waiting.note(n.Hash()>>(hashBits-shardBits), watchKey{db.id, n.Key()})
	}
}

func (all *waiting) note(shard uint32, wk watchKey) {
	l := all.lines[shard][wk]
	if l == nil || l.ready {
		return
	}
	l.ready = true
	all.ready[shard] = append(all.ready[shard], ReadyKey{wk.db, wk.key, all.clock.Add(1)})
}

// swapped notes the keys of database id that somebody waits for and that are
// there now. It requires AllShards.
func (s *Store) swapped(id int) {
	for i := range s.waiting.lines {
		for wk := range s.waiting.lines[i] {
			if wk.db == id && s.dbs[id].shards[i].keys.GetString(dict.HashString(wk.key), wk.key) != nil {
				s.waiting.note(uint32(i), wk)
			}
		}
	}
}

// TakeReady returns the keys of the given shards, which must be held, that came
// into being since it was last called, in that order. Whether they are still
// there is another question.
func (s *Store) TakeReady(shards ShardSet) []ReadyKey {
	all := &s.waiting
	if all.waiters.Load() == 0 {
		return nil
	}
	var out []ReadyKey
	for i := range all.ready {
		if shards&(1<<i) == 0 || len(all.ready[i]) == 0 {
			continue
		}
		for _, r := range all.ready[i] {
			if l := all.lines[i][watchKey{r.DB, r.Key}]; l != nil {
				l.ready = false
			}
		}
		out = append(out, all.ready[i]...)
		all.ready[i] = nil
	}
	slices.SortFunc(out, func(a, b ReadyKey) int { return cmp.Compare(a.since, b.since) })
	return out
}

// Waiters iterates over those who stand in line at a key, longest waiting
// first, claimed ones included. The key's shard must be held.
func (s *Store) Waiters(k ReadyKey) iter.Seq[*Waiter] {
	return func(yield func(*Waiter) bool) {
		l := s.waiting.lines[dict.HashString(k.Key)>>(hashBits-shardBits)][watchKey{k.DB, k.Key}]
		if l == nil {
			return
		}
		for e := l.waiters.Front(); e != nil; e = e.Next() {
			if !yield(e.Value.(*Waiter)) {
				return
			}
		}
	}
}

// Claimed reports whether the waiting has ended.
func (w *Waiter) Claimed() bool { return w.claimed.Load() }
