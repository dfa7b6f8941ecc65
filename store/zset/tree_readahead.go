package zset

import (
	"math"

	"github.com/zlimit/zlimit/store/dict"
)

// MembersAhead is how many members ReadMembersAhead takes at most.
const MembersAhead = 16

// readAheadFrom is how many members a tree must have for ReadMembersAhead: a smaller one is in the cache once
// the first of many members were found. It is a variable for tests.
var readAheadFrom = 1 << 13

// ReadMembersAhead reads the memory that looking members up, removing them or moving them will read: one
// level for all before the next, so that the processor waits for them together. The first of args and every
// step-th one after it are the members. It changes nothing, and does nothing if the set is not a large tree.
func (s *Set) ReadMembersAhead(args [][]byte, step int) {
	if s.kind != kindTree || len(args) <= step {
		return
	}
	if t := s.tree(); t.len() >= readAheadFrom {
		t.readAhead(args, step)
	}
}

// readAhead returns a number without meaning, so that the reads are not optimized away.
//
//go:noinline
func (t *tree) readAhead(args [][]byte, step int) (sum byte) {
	var leaves [MembersAhead]*leaf
	n, sum := t.findAhead(args, step, &leaves)
	for _, l := range leaves[:n] {
		if l != nil {
			sum += byte(len(l.items))
		}
	}
	for _, l := range leaves[:n] {
		if l == nil {
			continue
		}
		const line = 4 // items in a line of the cache
		for i := 0; i < len(l.items); i += line {
			sum += byte(math.Float64bits(l.items[i].score))
		}
	}
	return sum
}

// findAhead finds the leaves of up to MembersAhead members, nil for one that has no node. It returns how many
// members it took, and a number without meaning.
func (t *tree) findAhead(args [][]byte, step int, leaves *[MembersAhead]*leaf) (n int, sum byte) {
	var (
		hashes [MembersAhead]uint32
		nodes  [MembersAhead]*node
	)
	n = min((len(args)+step-1)/step, MembersAhead)
	for i := range n {
		hashes[i] = dict.Hash(args[i*step])
		sum += t.index.ReadAhead(hashes[i])
	}
	for i := range n {
		nodes[i] = t.index.First(hashes[i])
	}
	for i := range n {
		for nodes[i] != nil && nodes[i].Hash() != hashes[i] {
			nodes[i] = nodes[i].Next()
		}
	}
	for i := range n {
		if nodes[i] != nil {
			leaves[i] = t.leafOf(item{nodes[i].Value, nodes[i]})
		}
	}
	return n, sum
}
