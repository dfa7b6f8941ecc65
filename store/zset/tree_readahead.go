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
	var (
		hashes [MembersAhead]uint32
		chains [MembersAhead]*node
		at     [MembersAhead]*leaf
	)
	n := min((len(args)+step-1)/step, MembersAhead)
	for i := range n {
		hashes[i] = dict.Hash(args[i*step])
		sum += t.index.ReadAhead(hashes[i])
	}
	nodes, leaves := chains[:n], at[:n]
	for i := range nodes {
		nodes[i] = t.index.First(hashes[i])
	}
	for i := range nodes {
		for nodes[i] != nil && nodes[i].Hash() != hashes[i] {
			nodes[i] = nodes[i].Next()
		}
	}
	for i, found := range nodes {
		if found != nil {
			leaves[i] = t.leafOf(item{found.Value, found})
		}
	}
	for _, l := range leaves {
		if l != nil {
			sum += byte(len(l.items))
		}
	}
	for _, l := range leaves {
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
