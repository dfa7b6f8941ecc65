package store

import (
	"math/bits"
	"sync/atomic"

	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
)

// A Watch is the set of keys that one session watches for its next EXEC. The zero value watches nothing. Keys
// are watched by name, whether they exist or not, and every modification marks the watch: a key that is set
// and deleted again aborts EXEC, as in Redis.
type Watch struct {
	Owner any // the caller's; not used by this package

	keys   []watchedKey
	shards ShardSet
	dirty  atomic.Bool // set with any one of the shards held
}

type watchKey struct {
	db  int
	key string
}

type watchedKey struct {
	watchKey
	wasExpired bool // had expired when WATCH was called: its removal is no change
}

// Shards returns the shards of the watched keys.
func (w *Watch) Shards() ShardSet { return w.shards }

// Len returns the number of watched keys.
func (w *Watch) Len() int { return len(w.keys) }

// Watch adds key to w.
func (db *DB) Watch(w *Watch, key []byte, nowMs int64) {
	wk := watchKey{db.id, string(key)}
	for i := range w.keys {
		if w.keys[i].watchKey == wk {
			return
		}
	}
	hash := dict.Hash(key)
	n := db.shardAt(hash).keys.Get(hash, key)
	if len(w.keys) == 0 {
		db.store.watchers.Add(1)
	}
	w.keys = append(w.keys, watchedKey{wk, n != nil && n.Value.overdue(nowMs)})
	w.shards |= ShardOf(key)
	db.store.watches.Add(1)

	i := hash >> (hashBits - shardBits)
	if db.store.watched[i] == nil {
		db.store.watched[i] = make(map[watchKey][]*Watch)
	}
	watches := db.store.watched[i][wk]
	if len(watches) == 0 {
		db.store.watchedKeys.Add(1)
	}
	db.store.watched[i][wk] = append(watches, w)
}

// MarkDirty marks w as if a watched key had been modified. It requires no shard.
func (w *Watch) MarkDirty() { w.dirty.Store(true) }

// Unwatch removes every key from w and makes it intact again. It requires w.Shards().
func (s *Store) Unwatch(w *Watch) {
	for _, wk := range w.keys {
		watched := s.watched[dict.HashString(wk.key)>>(hashBits-shardBits)]
		watches := watched[wk.watchKey]
		for i := range watches {
			if watches[i] == w {
				watches[i] = watches[len(watches)-1]
				watches = watches[:len(watches)-1]
				break
			}
		}
		if len(watches) == 0 {
			delete(watched, wk.watchKey)
			s.watchedKeys.Add(-1)
		} else {
			watched[wk.watchKey] = watches
		}
	}
	s.watches.Add(-int64(len(w.keys)))
	if len(w.keys) > 0 {
		s.watchers.Add(-1)
	}
	w.keys, w.shards = nil, 0
	w.dirty.Store(false)
}

// Watched reports whether any key is watched. It requires no shard.
func (s *Store) Watched() bool { return s.watches.Load() > 0 }

// WatchCounts returns how many watches have keys, and how many keys are watched. It requires no shard.
func (s *Store) WatchCounts() (watches, keys int64) { return s.watchers.Load(), s.watchedKeys.Load() }

// Watchers calls fn for the watches of keys in shards, several times for a watch of several keys.
func (s *Store) Watchers(shards ShardSet, fn func(w *Watch)) {
	for rest := shards; rest != 0; rest &= rest - 1 {
		for _, watches := range s.watched[bits.TrailingZeros64(uint64(rest))] {
			for _, w := range watches {
				fn(w)
			}
		}
	}
}

// WatchersOf calls fn for the watches of one key of database i. It requires the key's shard.
func (s *Store) WatchersOf(i int, key []byte, fn func(w *Watch)) {
	for _, w := range s.watched[dict.Hash(key)>>(hashBits-shardBits)][watchKey{i, string(key)}] {
		fn(w)
	}
}

// Intact reports whether since Watch no watched key was modified, and none has expired by nowMs. It requires
// w.Shards().
func (s *Store) Intact(w *Watch, nowMs int64) bool {
	if w.dirty.Load() {
		return false
	}
	for _, wk := range w.keys {
		if wk.wasExpired {
			continue
		}
		hash := dict.HashString(wk.key)
		n := s.dbs[wk.db].shardAt(hash).keys.GetString(hash, wk.key)
		if n != nil && n.Value.overdue(nowMs) {
			return false
		}
	}
	return true
}

// Touch is Modified for data that cannot have become empty.
func (db *DB) Touch(n *Node) {
	db.checkPreserved(n)
	db.recount(n)
	db.touch(effects.Changed, n)
}

func (db *DB) touch(kind effects.Kind, n *Node) {
	db.record(kind, n)
	db.mark(n)
}

func (db *DB) mark(n *Node) {
	watched := db.store.watched[n.Hash()>>(hashBits-shardBits)]
	if len(watched) == 0 {
		return
	}
	wk := watchKey{db.id, n.Key()}
	for _, w := range watched[wk] {
		w.mark(wk)
	}
}

// mark marks w as modified, unless the change is only the removal of a key that had expired when it was
// watched.
func (w *Watch) mark(wk watchKey) {
	for i := range w.keys {
		if k := &w.keys[i]; k.watchKey == wk && k.wasExpired {
			k.wasExpired = false
			return
		}
	}
	w.dirty.Store(true)
}

// touchAll marks the watches of keys of database id that exist in before or, unless it is nil, in after. It
// requires AllShards.
func (s *Store) touchAll(id int, before, after *DB) {
	for i := range s.watched {
		for wk, watches := range s.watched[i] {
			if wk.db != id {
				continue
			}
			hash := dict.HashString(wk.key)
			exists := before.shards[i].keys.GetString(hash, wk.key) != nil ||
				after != nil && after.shards[i].keys.GetString(hash, wk.key) != nil
			if !exists {
				continue
			}
			for _, w := range watches {
				w.dirty.Store(true)
			}
		}
	}
}
