package store

import (
	"math/bits"

	"github.com/zlimit/zlimit/store/effects"
)

// Record makes the given shards, which the caller holds, tell g what changes in
// them: that something did, and which keys were found past their deadlines, in
// order. nil ends it, which the caller does before it unlocks them.
func (s *Store) Record(shards ShardSet, g *effects.Group) {
	for rest := uint64(shards); rest != 0; rest &= rest - 1 {
		s.locks[bits.TrailingZeros64(rest)].recorder = g
	}
}

// recorder is who holds the shard of a key, where it records.
func (s *Store) recorder(n *Node) *effects.Group {
	return s.locks[n.Hash()>>(hashBits-shardBits)].recorder
}

// changed records that all shards may have changed, and requires them.
func (s *Store) changed() {
	if g := s.locks[0].recorder; g != nil {
		g.Changed()
	}
}
