package zset

import (
	"math"
	"slices"
	"strings"

	"github.com/google/btree"

	"github.com/zlimit/zlimit/store/dict"
)

// node is a member with its score in the tree's index.
type node = dict.Node[float64]

// tree is the encoding for arbitrary members. index maps a member to its node. The nodes are in order in
// linked leaves of up to leafSize. Each leaf except the front one is in dir under its first item. A search
// that finds nothing in dir ends at the front leaf, so a sliding window need not update dir with each item
// that it removes.
//
// Invariant: no leaf is empty unless the tree is; a leaf's key in dir is its first item. Leaves whose members
// are still in a log, and nodes of the index that are no longer in the order, are in tree_rest.go.
type tree struct {
	index       dict.Dict[float64]
	dir         *btree.BTreeG[leafRef] // nil while there is only one leaf
	front, back *leaf
	ranks       ranks
	longest     int   // longest member added since the last NoteEncoding
	leaves      int   // number of leaves
	itemsBytes  int64 // memory of their items
	rest        rest  // what changes of many members have left to do
}

const (
	leafSize  = 128
	dirDegree = 16
)

// An item is a position in the order. A nil node sorts before every member with the same score, so a score
// alone can be searched for.
type item struct {
	score float64
	node  *node
}

func compareItems(a, b item) int {
	switch {
	case a.score < b.score:
		return -1
	case a.score > b.score:
		return 1
	case a.node == b.node:
		return 0
	case a.node == nil:
		return -1
	case b.node == nil:
		return 1
	}
	return strings.Compare(a.node.Key(), b.node.Key())
}

// entry returns the entry of an item that has a node.
func (it item) entry() Entry {
	return Entry{Score: it.score, member: it.node.Key()}
}

// searchItems returns the position of an item, or where it would be, and whether it is there.
func searchItems(items []item, it item) (int, bool) {
	return slices.BinarySearchFunc(items, it, compareItems)
}

type leaf struct {
	items      []item
	prev, next *leaf
	pos        int32  // index in ranks
	capacity   uint16 // accounted capacity of items, including what was cut off at the front
	shared     bool   // a frozen tree has the same items: unshare before changing them
	unlisted   bool   // the members are in the log of rest, and not in the index
}

type leafRef struct {
	first item
	leaf  *leaf
}

func newTree() *tree {
	l := new(leaf)
	return &tree{front: l, back: l, leaves: 1}
}

func (t *tree) len() int { return t.index.Len() - t.rest.dead + t.rest.unlisted }

func (t *tree) score(member []byte) (float64, bool) {
	if n := t.index.Get(dict.Hash(member), member); n != nil && t.alive(n) {
		return n.Value, true
	}
	if l, i := t.findUnlisted(member); l != nil {
		return t.itemOf(l, i).score, true
	}
	return 0, false
}

// append adds a member above all others.
func (t *tree) append(member []byte, score float64) {
	n, _ := t.index.Put(dict.Hash(member), member)
	n.Value = score
	t.noteLength(member)
	t.insert(item{score, n})
}

func (t *tree) noteLength(member []byte) {
	t.longest = max(t.longest, len(member))
}

func (t *tree) add(member []byte, score float64) (old float64, existed bool) {
	t.settle(member)
	n, created := t.index.Put(dict.Hash(member), member)
	if created {
		t.noteLength(member)
	} else {
		old = n.Value
		if old == score { // also 0 for -0, as in Redis
			return old, true
		}
		t.removeItem(item{old, n})
	}
	n.Value = score
	t.insert(item{score, n})
	return old, !created
}

func (t *tree) remove(member []byte) (float64, bool) {
	t.settle(member)
	n := t.index.Delete(dict.Hash(member), member)
	if n == nil {
		return 0, false
	}
	t.removeItem(item{n.Value, n})
	return n.Value, true
}

func (t *tree) rank(member []byte) (int, bool) {
	if n := t.index.Get(dict.Hash(member), member); n != nil && t.alive(n) {
		return t.countTo(item{n.Value, n}), true
	}
	if l, i := t.findUnlisted(member); l != nil {
		return t.rankOfLeaf(l) + i, true
	}
	return 0, false
}

// countBelow returns the number of scores below score, or, if through, of at most score.
func (t *tree) countBelow(score float64, through bool) int {
	if through {
		if math.IsInf(score, 1) {
			return t.len()
		}
		score = math.Nextafter(score, math.Inf(1))
	}
	return t.countTo(item{score: score})
}

// countTo returns the number of items before it.
func (t *tree) countTo(it item) int {
	l := t.leafOf(it)
	if l.unlisted {
		return t.rankOfLeaf(l) + t.countUnlisted(l, it.score)
	}
	i, _ := searchItems(l.items, it)
	return t.rankOfLeaf(l) + i
}

func (t *tree) at(rank int) Entry {
	l, i := t.locate(rank)
	return t.entryOf(l, i)
}

func (t *tree) ascend(rank int, fn func(Entry) bool) {
	l, i := t.locate(rank)
	for ; l != nil; l, i = l.next, 0 {
		if l.unlisted && !t.ascendUnlisted(l, i, fn) {
			return
		}
		for _, it := range l.items[min(i, len(l.items)):] {
			if !fn(it.entry()) {
				return
			}
		}
	}
}

func (t *tree) descend(rank int, fn func(Entry) bool) {
	for l, i := t.locate(rank); l != nil; {
		if l.unlisted {
			if !t.descendUnlisted(l, i, fn) {
				return
			}
			i = -1
		}
		for ; i >= 0; i-- {
			if !fn(l.items[i].entry()) {
				return
			}
		}
		if l = l.prev; l != nil {
			i = t.size(l) - 1
		}
	}
}

// scan goes through what is in a log first, and then through the index, which has what is listed meanwhile.
func (t *tree) scan(cursor uint64, fn func(Entry)) uint64 {
	if fromLog := cursor&scanLog != 0; fromLog || cursor == 0 {
		if next := t.scanUnlisted(cursor, fn); next != 0 {
			return next
		}
		cursor = 0
	}
	return t.index.Scan(cursor, func(n *node) {
		if t.alive(n) {
			fn(Entry{Score: n.Value, member: n.Key()})
		}
	})
}
