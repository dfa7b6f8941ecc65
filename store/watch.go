package store

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/effects"
)

// A Watch is the set of keys that one session watches for its next EXEC. The zero value watches nothing. Keys
// are watched by name, whether they exist or not, and every modification marks the watch: a key that is set
// and deleted again aborts EXEC, as in Redis.
type Watch struct {
	Owner any // the caller's; not used by this package

	keys   watchedKeys
	names  int64 // see Bytes
	shards ShardSet
	dirty  atomic.Bool // set with any one of the shards held
}

// A watchedKey is a key of one Watch. It is in the Watch's list and in that of the key's name.
type watchedKey struct {
	watch      *Watch
	name       *watchedName
	db         int32
	wasExpired bool // had expired when WATCH or SWAPDB brought it: its removal is no change
}

type watchedKeys []*watchedKey

// A watchedName is a name, in whatever database, and the keys of all watches that have it: at least one.
type watchedName = dict.Node[watchedKeys]

const (
	watchedKeyBytes = int(unsafe.Sizeof(watchedKey{}))
	pointerBytes    = int(unsafe.Sizeof(uintptr(0)))
)

// Shards returns the shards of the watched keys.
func (w *Watch) Shards() ShardSet { return w.shards }

// Len returns the number of watched keys.
func (w *Watch) Len() int { return len(w.keys) }

// Bytes returns the memory that the watched keys take, names included. A key counts as if nobody else watched
// it, so that the bytes depend on the Watch alone.
func (w *Watch) Bytes() int64 {
	one := alloc.Pointers(watchedKeyBytes) + alloc.Pointers(pointerBytes)
	return w.names + int64(len(w.keys))*one + alloc.Pointers(cap(w.keys)*pointerBytes)
}

// Watch adds key to w.
func (db *DB) Watch(w *Watch, key []byte, nowMs int64) {
	hash := dict.Hash(key)
	name, _ := db.store.watched[shardIndex(hash)].Put(hash, key)
	k := &watchedKey{watch: w, name: name, db: int32(db.id)}
	if k.isWatched() {
		return
	}
	n := db.shardAt(hash).keys.Get(hash, key)
	k.wasExpired = n != nil && n.Value.overdue(nowMs)
	if len(w.keys) == 0 {
		db.store.watchers.Add(1)
	}
	if !name.Value.inDatabase(db.id) {
		db.store.watchedKeys.Add(1)
	}
	w.keys, name.Value = append(w.keys, k), append(name.Value, k)
	w.names += int64(name.Bytes())
	w.shards |= ShardOf(key)
	db.store.watches.Add(1)
}

// isWatched reports whether the Watch has the key. It looks into the shorter one of the two lists.
func (k *watchedKey) isWatched() bool {
	list := k.watch.keys
	if len(k.name.Value) < len(list) {
		list = k.name.Value
	}
	return slices.ContainsFunc(list, func(o *watchedKey) bool {
		return o.watch == k.watch && o.name == k.name && o.db == k.db
	})
}

// inDatabase reports whether any of the keys of one name is of a database.
func (keys watchedKeys) inDatabase(id int) bool {
	return slices.ContainsFunc(keys, func(k *watchedKey) bool { return int(k.db) == id })
}

// MarkDirty marks w as if a watched key had been modified. It requires no shard.
func (w *Watch) MarkDirty() { w.dirty.Store(true) }

// Dirty reports whether a key of w has changed. It may be called without locks.
func (w *Watch) Dirty() bool { return w.dirty.Load() }

// Unwatch removes every key from w and makes it intact again. It requires w.Shards().
func (s *Store) Unwatch(w *Watch) {
	for _, k := range w.keys {
		name := k.name
		last := len(name.Value) - 1
		i := slices.Index(name.Value, k)
		name.Value[i], name.Value[last] = name.Value[last], nil
		name.Value = alloc.Trim(name.Value[:last])
		if !name.Value.inDatabase(int(k.db)) {
			s.watchedKeys.Add(-1)
		}
		if last == 0 {
			s.watched[shardIndex(name.Hash())].Unlink(name)
		}
	}
	s.watches.Add(-int64(len(w.keys)))
	if len(w.keys) > 0 {
		s.watchers.Add(-1)
	}
	w.keys, w.names, w.shards = nil, 0, 0
	w.dirty.Store(false)
}

// Watched reports whether any key is watched. It requires no shard.
func (s *Store) Watched() bool { return s.watches.Load() > 0 }

// WatchCounts returns how many watches have keys, and how many keys are watched. It requires no shard.
func (s *Store) WatchCounts() (watches, keys int64) { return s.watchers.Load(), s.watchedKeys.Load() }

// Watchers calls fn for the watches of keys in shards, several times for a watch of several keys.
func (s *Store) Watchers(shards ShardSet, fn func(w *Watch)) {
	for rest := shards; rest != 0; rest &= rest - 1 {
		for name := range s.watched[bits.TrailingZeros64(uint64(rest))].All() {
			for _, k := range name.Value {
				fn(k.watch)
			}
		}
	}
}

// WatchersOf calls fn for the watches of one key of database i. It requires the key's shard.
func (s *Store) WatchersOf(i int, key []byte, fn func(w *Watch)) {
	hash := dict.Hash(key)
	name := s.watched[shardIndex(hash)].Get(hash, key)
	if name == nil {
		return
	}
	for _, k := range name.Value {
		if int(k.db) == i {
			fn(k.watch)
		}
	}
}

// Intact reports whether since Watch no watched key was modified, and none has expired by nowMs. It requires
// w.Shards().
func (s *Store) Intact(w *Watch, nowMs int64) bool {
	if w.dirty.Load() {
		return false
	}
	for _, k := range w.keys {
		if k.wasExpired {
			continue
		}
		hash := k.name.Hash()
		n := s.dbs[k.db].shardAt(hash).keys.GetString(hash, k.name.Key())
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

// mark marks the watches of n's key, and tells those that wait for a change of it.
func (db *DB) mark(n *Node) {
	db.signalChanged(n)
	watched := &db.store.watched[shardIndex(n.Hash())]
	if watched.Len() == 0 {
		return
	}
	name := watched.GetString(n.Hash(), n.Key())
	if name == nil {
		return
	}
	for _, k := range name.Value {
		switch {
		case int(k.db) != db.id:
		case k.wasExpired: // the change is only the removal of a key that had expired
			k.wasExpired = false
		default:
			k.watch.dirty.Store(true)
		}
	}
}

// touchAll marks the watches of keys of database id that exist in before or, unless it is nil, in after. As
// in Redis, a key that has expired counts as one that does not exist. It requires AllShards.
func (s *Store) touchAll(id int, before, after *DB, nowMs int64) {
	s.signalAll(id)
	for i := range s.watched {
		for name := range s.watched[i].All() {
			hash, key := name.Hash(), name.Key()
			existed := before.shards[i].keys.GetString(hash, key) != nil
			exists, expired := false, false
			if after != nil {
				n := after.shards[i].keys.GetString(hash, key)
				exists, expired = n != nil, n != nil && n.Value.overdue(nowMs)
			}
			if !existed && !exists {
				continue
			}
			for _, k := range name.Value {
				switch live := exists && !expired; {
				case int(k.db) != id:
				case live, existed && !k.wasExpired:
					k.watch.dirty.Store(true)
				default:
					k.wasExpired = expired
				}
			}
		}
	}
}
