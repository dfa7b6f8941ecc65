package store

import (
	"maps"
	"math/bits"
)

// This file remembers which keys have values that left something to do when many of their members changed, so
// that a Tick does it in steps and no command holds a shard for it. It changes nothing that commands see but
// the memory of the keys.

// Finish does what values in the given shards have left to do, for about limit members. It returns for how
// many, and reports whether there is more.
func (s *Store) Finish(shards ShardSet, limit int) (done int, more bool) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		unfinished := s.unfinished[bits.TrailingZeros64(rest)]
		for n, db := range unfinished {
			if done >= limit {
				return done, true
			}
			set := ZSetOf(n)
			if set != nil && set.Unfinished() {
				done += set.Finish(limit - done)
				db.Resized(n)
			}
			if set == nil || !set.Unfinished() {
				delete(unfinished, n)
			}
		}
		if len(unfinished) > 0 {
			return done, true
		}
	}
	return done, false
}

// noteUnfinished is called for each node that is new or has changed.
func (db *DB) noteUnfinished(n *Node) {
	if set := ZSetOf(n); set == nil || !set.Unfinished() {
		return
	}
	unfinished := &db.store.unfinished[shardIndex(n.Hash())]
	if *unfinished == nil {
		*unfinished = make(map[*Node]*DB)
	}
	(*unfinished)[n] = db
}

// forgetUnfinished is called for each node that leaves its database.
func (db *DB) forgetUnfinished(n *Node) {
	if unfinished := db.store.unfinished[shardIndex(n.Hash())]; len(unfinished) > 0 {
		delete(unfinished, n)
	}
}

// flushUnfinished is called when all keys of a shard of the database are removed.
func (db *DB) flushUnfinished(shard int) {
	maps.DeleteFunc(db.store.unfinished[shard], func(_ *Node, of *DB) bool { return of == db })
}
