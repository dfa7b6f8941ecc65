package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/effects"
)

// Record makes changes in the given shards be recorded in g, in order: changed keys, and keys that were found
// expired. A nil g ends that, and must be set before the shards are unlocked.
func (s *Store) Record(shards ShardSet, g *effects.Group) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].recorder = g
	}
}

// recorder returns the recorder of the shard of a node, nil if nothing is recorded.
func (s *Store) recorder(n *Node) *effects.Group { return s.recorderAt(n.Hash()) }

func (s *Store) recorderAt(hash uint32) *effects.Group {
	return s.locks[shardIndex(hash)].recorder
}

func (db *DB) record(kind effects.Kind, n *Node) {
	if g := db.store.recorder(n); g != nil {
		g.ChangedKey(kind, db.id, n.Key())
	}
}

func (db *DB) created(n *Node) {
	if g := db.store.recorder(n); g != nil {
		g.Created(db.id, n.Key())
	}
}

// missed records that a key was looked up for reading and does not exist.
func (db *DB) missed(hash uint32, key []byte) {
	if g := db.store.recorderAt(hash); g != nil {
		g.Missed(db.id, key)
	}
}

// recordDB records a change of a whole database. It requires AllShards.
func (s *Store) recordDB(kind effects.Kind, db, other int) {
	if g := s.locks[0].recorder; g != nil {
		g.ChangedDB(kind, db, other)
	}
}
