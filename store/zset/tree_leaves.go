package zset

import (
	"slices"

	"github.com/google/btree"
)

// This file is the order of a tree: its leaves, their directory, and their ranks.

// leafOf returns the last leaf that begins at or before it, or the front leaf.
func (t *tree) leafOf(it item) *leaf {
	l := t.front
	if t.dir != nil {
		t.dir.DescendLessOrEqual(leafRef{first: it}, func(r leafRef) bool {
			l = r.leaf
			return false
		})
	}
	return l
}

// insert inserts an item that is not in the tree.
func (t *tree) insert(it item) {
	l := t.leafOf(it)
	for l.unlisted { // at most two: the item may sort before the first of the leaf that is listed
		t.list(l)
		l = t.leafOf(it)
	}
	i, _ := searchItems(l.items, it)
	if len(l.items) == leafSize {
		l, i = t.split(l, i)
	}
	l.unshare()
	capacity := cap(l.items)
	if l.items = slices.Insert(l.items, i, it); cap(l.items) != capacity {
		t.updateItemsBytes(l)
	}
	if i == 0 {
		t.addToDir(l)
	}
	t.ranks.add(l, 1)
}

// removeItem removes an item that is in the tree.
func (t *tree) removeItem(it item) {
	l := t.leafOf(it)
	i, ok := searchItems(l.items, it)
	if !ok {
		panic("zset: index and order disagree")
	}
	if t.removeFromLeaf(l, i, i+1) {
		t.mergeOrShrink(l)
	}
}

// removeFromLeaf removes the items [i, j) of a leaf, and the leaf if it is empty then. It reports whether the
// leaf remains.
func (t *tree) removeFromLeaf(l *leaf, i, j int) bool {
	if i == 0 {
		t.removeFromDir(l)
	}
	t.ranks.add(l, i-j)
	l.unshare()
	if l == t.front && l != t.back && i == 0 {
		// A sliding window removes the items of the front leaf one at a time and adds none there.
		clear(l.items[:j])
		l.items = l.items[j:]
	} else {
		l.items = slices.Delete(l.items, i, j)
	}
	if len(l.items) == 0 {
		t.unlink(l)
		return false
	}
	if i == 0 {
		t.addToDir(l)
	}
	return true
}

// mergeOrShrink merges a leaf that has become small with a neighbour, or else shrinks it if it is three
// quarters empty.
func (t *tree) mergeOrShrink(l *leaf) {
	if len(l.items) > leafSize/2 {
		return // too large to merge or to shrink: the neighbours are not read
	}
	if n := l.next; n != nil && !n.unlisted && len(l.items)+len(n.items) <= leafSize/2 {
		t.merge(l, n)
	} else if p := l.prev; p != nil && !p.unlisted && len(l.items)+len(p.items) <= leafSize/2 {
		t.merge(p, l)
	} else if cap(l.items) > 8 && len(l.items) <= cap(l.items)/4 {
		l.items = append(make([]item, 0, cap(l.items)/2), l.items...)
		t.updateItemsBytes(l)
	}
}

// split splits a full leaf for an item at i and returns the leaf and the position of the item. An item after
// all others starts a new leaf, so that inserting in order leaves full leaves.
func (t *tree) split(l *leaf, i int) (*leaf, int) {
	r := t.linkAfter(l)
	if i == leafSize && r.next == nil {
		r.items = make([]item, 0, leafSize)
		t.updateItemsBytes(r)
		return r, 0
	}
	l.unshare()
	const half = leafSize / 2
	r.items = append(make([]item, 0, leafSize), l.items[half:]...)
	t.updateItemsBytes(r)
	clear(l.items[half:])
	l.items = l.items[:half]
	t.addToDir(r)
	if i > half {
		return r, i - half
	}
	return l, i
}

// linkAfter returns a new leaf after l.
func (t *tree) linkAfter(l *leaf) *leaf {
	r := &leaf{prev: l, next: l.next}
	if l.next != nil {
		l.next.prev = r
	} else {
		t.back = r
	}
	l.next = r
	t.leaves++
	t.ranks.stale = true
	if t.dir == nil {
		t.dir = newDir()
	}
	return r
}

func newDir() *btree.BTreeG[leafRef] {
	return btree.NewWithFreeListG(dirDegree, lessRef, btree.NewFreeListG[leafRef](0))
}

// merge moves the items of r to the end of l, the leaf before it.
func (t *tree) merge(l, r *leaf) {
	t.removeFromDir(r)
	l.unshare()
	capacity := cap(l.items)
	if l.items = append(l.items, r.items...); cap(l.items) != capacity {
		t.updateItemsBytes(l)
	}
	r.items = nil
	t.unlink(r)
}

// unlink removes an empty leaf that is not in dir from the list, unless it is the only one.
func (t *tree) unlink(l *leaf) {
	l.items = nil
	t.updateItemsBytes(l)
	if l.prev == nil && l.next == nil {
		return
	}
	t.leaves--
	t.cut(l, l)
}

// cut removes the leaves from first to last, which are not in dir, from the list. There are others.
func (t *tree) cut(first, last *leaf) {
	before, after := first.prev, last.next
	if before != nil {
		before.next = after
	} else {
		t.removeFromDir(after)
		t.front = after
	}
	if after != nil {
		after.prev = before
	} else {
		t.back = before
	}
	first.prev, last.next = nil, nil
	t.ranks.stale = true
	if t.front == t.back {
		t.dir = nil
		t.ranks = ranks{}
	}
}

func (t *tree) updateItemsBytes(l *leaf) {
	t.itemsBytes += itemsSize(cap(l.items)) - itemsSize(int(l.capacity))
	l.capacity = uint16(cap(l.items))
}

// addToDir adds a leaf, unless it is the front leaf, to the directory under its first item.
func (t *tree) addToDir(l *leaf) {
	if l != t.front {
		t.dir.ReplaceOrInsert(leafRef{t.itemOf(l, 0), l})
	}
}

// removeFromDir removes a leaf from the directory; its first item must not have changed since addToDir.
func (t *tree) removeFromDir(l *leaf) {
	if l != t.front {
		t.dir.Delete(leafRef{first: t.itemOf(l, 0)})
	}
}

func lessRef(a, b leafRef) bool { return compareItems(a.first, b.first) < 0 }

// removeRanks removes the items with ranks in [start, stop). If few remain, a new tree is built from them.
// If many are removed, their leaves are dropped, and their nodes stay in the index until later.
func (t *tree) removeRanks(start, stop int) {
	if n := t.len(); stop-start > n/2 && n-(stop-start) <= deferFrom {
		t.listRanks(0, start)
		t.listRanks(stop, n)
		kept := make([]item, 0, n-(stop-start))
		kept = t.appendItems(kept, 0, start)
		kept = t.appendItems(kept, stop, n)
		t.rebuild(kept)
		return
	}
	t.listRanks(start, start+1) // leaves that are cut in two need items
	t.listRanks(stop-1, stop)
	if stop-start > deferFrom && t.rest.log == nil && t.dropRanks(start, stop) {
		return
	}
	l, i := t.locate(start)
	for n := stop - start; n > 0; {
		next := l.next
		j := min(t.size(l), i+n)
		n -= j - i
		if j-i == t.size(l) {
			t.drop(l)
			l, i = next, 0
			continue
		}
		for _, it := range l.items[i:j] {
			t.index.Unlink(it.node)
		}
		if t.removeFromLeaf(l, i, j) && n == 0 {
			t.mergeOrShrink(l)
		}
		l, i = next, 0
	}
}

func (t *tree) appendItems(to []item, start, stop int) []item {
	if start == stop {
		return to
	}
	l, i := t.locate(start)
	for n := stop - start; n > 0; l, i = l.next, 0 {
		items := l.items[i:min(len(l.items), i+n)]
		to = append(to, items...)
		n -= len(items)
	}
	return to
}

// rebuild makes the tree consist of the given items, in order. Their nodes move from the old index, which is
// dropped, to a new one.
func (t *tree) rebuild(items []item) {
	l := new(leaf)
	*t = tree{front: l, back: l, longest: t.longest, leaves: 1}
	for _, it := range items {
		t.index.Insert(it.node)
		t.insert(it)
	}
}

// ranks maps leaves to the ranks they begin at, in O(log leaves): a Fenwick tree over the sizes of the leaves
// (P. M. Fenwick, "A new data structure for cumulative frequency tables", 1994). Changes of items update it.
// Adding or removing a leaf makes it stale; the next query rebuilds it, which costs little for each change.
type ranks struct {
	leaves []*leaf
	sums   []int // sums[i]: items of the leaves from i&(i+1) to i
	stale  bool
}

func (r *ranks) add(l *leaf, n int) {
	if r.stale {
		return
	}
	for i := int(l.pos); i < len(r.sums); i |= i + 1 {
		r.sums[i] += n
	}
}

// refresh rebuilds stale ranks. It takes the leaves from the directory, not from their list, so that the
// processor reads many of them at once: each is somewhere else in memory.
func (t *tree) refresh() {
	r := &t.ranks
	if !r.stale {
		return
	}
	r.stale = false
	r.leaves = append(slices.Grow(r.leaves[:0], t.leaves), t.front)
	if t.dir != nil {
		t.dir.Ascend(func(ref leafRef) bool {
			r.leaves = append(r.leaves, ref.leaf)
			return true
		})
	}
	clear(r.leaves[len(r.leaves):cap(r.leaves)])
	r.sums = slices.Grow(r.sums[:0], len(r.leaves))[:len(r.leaves)]
	for i, l := range r.leaves {
		l.pos = int32(i)
		r.sums[i] = t.size(l)
	}
	for i := range r.sums {
		if j := i | (i + 1); j < len(r.sums) {
			r.sums[j] += r.sums[i]
		}
	}
}

// rankOfLeaf returns the number of items before the leaf.
func (t *tree) rankOfLeaf(l *leaf) int {
	if l == t.front {
		return 0
	}
	t.refresh()
	n := 0
	for i := int(l.pos) - 1; i >= 0; i = i&(i+1) - 1 {
		n += t.ranks.sums[i]
	}
	return n
}

// locate returns the leaf of the item with this rank, which must exist, and the item's index in it.
func (t *tree) locate(rank int) (*leaf, int) {
	if rank < t.size(t.front) {
		return t.front, rank
	}
	if left := t.len() - t.size(t.back); rank >= left {
		return t.back, rank - left
	}
	t.refresh()
	sums := t.ranks.sums
	step := 1
	for step*2 <= len(sums) {
		step *= 2
	}
	pos := 0 // leaves known to be before it
	for ; step > 0; step /= 2 {
		if pos+step <= len(sums) && sums[pos+step-1] <= rank {
			pos += step
			rank -= sums[pos-1]
		}
	}
	return t.ranks.leaves[pos], rank
}
