package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/effects"
)

// Record makes the given shards, which the caller holds, tell g what changes in
// them: which keys did, and which were found past their deadlines, in order. nil
// ends it, which the caller does before it unlocks them.
func (s *Store) Record(shards ShardSet, g *effects.Group) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].recorder = g
	}
}

// recorder is who holds the shard of a key, where it records.
func (s *Store) recorder(n *Node) *effects.Group { return s.recorderAt(n.Hash()) }

func (s *Store) recorderAt(hash uint32) *effects.Group {
	return s.locks[hash>>(hashBits-shardBits)].recorder
}

// record records what became of a node's key.
func (db *DB) record(kind effects.Kind, n *Node) {
	if g := db.store.recorder(n); g != nil {
		g.ChangedKey(kind, db.id, n.Key())
	}
}

// created records that a node's key has come into being.
func (db *DB) created(n *Node) {
	if g := db.store.recorder(n); g != nil {
		g.Created(db.id, n.Key())
	}
}

// missed records that a key was looked up to be read, and is not there.
func (db *DB) missed(hash uint32, key []byte) {
	if g := db.store.recorderAt(hash); g != nil {
		g.Missed(db.id, key)
	}
}

// recordDB records what became of a whole database, and requires AllShards.
func (s *Store) recordDB(kind effects.Kind, db, other int) {
	if g := s.locks[0].recorder; g != nil {
		g.ChangedDB(kind, db, other)
	}
}
