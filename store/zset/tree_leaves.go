package zset

import (
	"slices"

	"github.com/google/btree"
)

// This file is the order of a tree: leaves, their directory, and their ranks.

// find returns the last leaf that begins at or before it, or the front leaf.
func (t *tree) find(it item) *leaf {
	l := t.front
	if t.dir != nil {
		t.dir.DescendLessOrEqual(leafRef{first: it}, func(r leafRef) bool {
			l = r.leaf
			return false
		})
	}
	return l
}

// insert files an item that is not there.
func (t *tree) insert(it item) {
	l := t.find(it)
	i, _ := slices.BinarySearchFunc(l.items, it, compareItems)
	if len(l.items) == leafSize {
		l, i = t.split(l, i)
	}
	l.own()
	room := cap(l.items)
	if l.items = slices.Insert(l.items, i, it); cap(l.items) != room {
		t.resized(l)
	}
	if i == 0 {
		t.file(l)
	}
	t.ranks.add(l, 1)
}

// take removes an item that is there.
func (t *tree) take(it item) {
	l := t.find(it)
	i, ok := slices.BinarySearchFunc(l.items, it, compareItems)
	if !ok {
		panic("zset: index and order disagree")
	}
	if t.cut(l, i, i+1) {
		t.mend(l)
	}
}

// cut removes the items from i up to, not including, j of a leaf, and the leaf
// with its last item. It reports whether the leaf is still there.
func (t *tree) cut(l *leaf, i, j int) bool {
	if i == 0 {
		t.unfile(l)
	}
	t.ranks.add(l, i-j)
	l.own()
	if l == t.front && l != t.back && i == 0 {
		// A window that slides takes the front leaf one item at a time and
		// puts nothing back there.
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
		t.file(l)
	}
	return true
}

// mend joins a leaf that became small with a neighbour, or else gives back
// room that is three quarters empty.
func (t *tree) mend(l *leaf) {
	if n := l.next; n != nil && len(l.items)+len(n.items) <= leafSize/2 {
		t.join(l, n)
	} else if p := l.prev; p != nil && len(l.items)+len(p.items) <= leafSize/2 {
		t.join(p, l)
	} else if cap(l.items) > 8 && len(l.items) <= cap(l.items)/4 {
		l.items = append(make([]item, 0, cap(l.items)/2), l.items...)
		t.resized(l)
	}
}

// split makes room in a full leaf for an item at i and returns the leaf and
// the place that are the item's now. An item behind all others opens a leaf of
// its own, so that members that come in order leave full leaves behind.
func (t *tree) split(l *leaf, i int) (*leaf, int) {
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
		t.dir = btree.NewWithFreeListG(dirDegree, lessRef, btree.NewFreeListG[leafRef](0))
	}
	if i == leafSize && r.next == nil {
		r.items = make([]item, 0, leafSize)
		t.resized(r)
		return r, 0
	}
	l.own()
	const half = leafSize / 2
	r.items = append(make([]item, 0, leafSize), l.items[half:]...)
	t.resized(r)
	clear(l.items[half:])
	l.items = l.items[:half]
	t.file(r)
	if i > half {
		return r, i - half
	}
	return l, i
}

// join moves the items of r to the end of l, the leaf before it.
func (t *tree) join(l, r *leaf) {
	t.unfile(r)
	l.own()
	room := cap(l.items)
	if l.items = append(l.items, r.items...); cap(l.items) != room {
		t.resized(l)
	}
	r.items = nil
	t.unlink(r)
}

// unlink takes an empty leaf that dir does not hold out of the list. The last
// leaf stays.
func (t *tree) unlink(l *leaf) {
	l.items = nil
	t.resized(l)
	if l.prev == nil && l.next == nil {
		return
	}
	t.leaves--
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		t.unfile(l.next)
		t.front = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		t.back = l.prev
	}
	t.ranks.stale = true
	if t.front == t.back {
		t.dir = nil
		t.ranks = ranks{}
	}
}

// resized counts the memory of a leaf's items, which is another than before.
func (t *tree) resized(l *leaf) {
	t.arrays += itemsBytes(cap(l.items)) - itemsBytes(int(l.room))
	l.room = uint16(cap(l.items))
}

// file puts a leaf in the directory under its first item, the front leaf
// excepted.
func (t *tree) file(l *leaf) {
	if l != t.front {
		t.dir.ReplaceOrInsert(leafRef{l.items[0], l})
	}
}

// unfile takes a leaf out of the directory; its first item must be as filed.
func (t *tree) unfile(l *leaf) {
	if l != t.front {
		t.dir.Delete(leafRef{first: l.items[0]})
	}
}

func lessRef(a, b leafRef) bool { return compareItems(a.first, b.first) < 0 }

// removeRanks removes the items with ranks from start up to, not including,
// stop. It costs what the smaller part does: of a window that has passed but for
// its last hits, those are put together anew, and the rest is left behind.
func (t *tree) removeRanks(start, stop int) {
	if n := t.len(); stop-start > n/2 {
		kept := make([]item, 0, n-(stop-start))
		kept = t.appendItems(kept, 0, start)
		kept = t.appendItems(kept, stop, n)
		t.refill(kept)
		return
	}
	l, i := t.locate(start)
	for n := stop - start; n > 0; {
		next := l.next
		j := min(len(l.items), i+n)
		n -= j - i
		for _, it := range l.items[i:j] {
			t.index.Unlink(it.node)
		}
		if t.cut(l, i, j) && n == 0 {
			t.mend(l)
		}
		l, i = next, 0
	}
}

// appendItems appends the items with ranks from start up to, not including, stop
// to a list.
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

// refill leaves nothing in the tree but some of its items, which come in order.
// Their nodes stay the same: they go from the old index, which nobody uses any
// more, into a new one.
func (t *tree) refill(items []item) {
	l := new(leaf)
	*t = tree{front: l, back: l, longest: t.longest, leaves: 1}
	for _, it := range items {
		t.index.Insert(it.node)
		t.insert(it)
	}
}

// ranks answers which rank a leaf begins at, in O(log leaves): a Fenwick tree
// over the sizes of the leaves in order (P. M. Fenwick, "A new data structure
// for cumulative frequency tables", 1994). It follows items that come and go;
// when leaves do, it is stale until a rank is asked for and then made anew,
// which over many changes costs each of them a little.
type ranks struct {
	leaves []*leaf
	sums   []int // sums[i]: items of the leaves from i&(i+1) to i
	stale  bool
}

// add notes that leaf l holds n items more.
func (r *ranks) add(l *leaf, n int) {
	if r.stale {
		return
	}
	for i := int(l.pos); i < len(r.sums); i |= i + 1 {
		r.sums[i] += n
	}
}

// refresh makes the ranks anew if they are stale.
func (t *tree) refresh() {
	r := &t.ranks
	if !r.stale {
		return
	}
	r.leaves, r.sums, r.stale = r.leaves[:0], r.sums[:0], false
	for l := t.front; l != nil; l = l.next {
		l.pos = int32(len(r.leaves))
		r.leaves = append(r.leaves, l)
		r.sums = append(r.sums, len(l.items))
	}
	clear(r.leaves[len(r.leaves):cap(r.leaves)])
	for i := range r.sums {
		if j := i | (i + 1); j < len(r.sums) {
			r.sums[j] += r.sums[i]
		}
	}
}

// before returns how many items stand before the leaf.
func (t *tree) before(l *leaf) int {
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

// locate returns the leaf that holds the item with this rank, which must be
// held, and the item's place in it.
func (t *tree) locate(rank int) (*leaf, int) {
	if rank < len(t.front.items) {
		return t.front, rank
	}
	if left := t.len() - len(t.back.items); rank >= left {
		return t.back, rank - left
	}
	t.refresh()
	sums := t.ranks.sums
	step := 1
	for step*2 <= len(sums) {
		step *= 2
	}
	pos := 0 // leaves known to stand before
	for ; step > 0; step /= 2 {
		if pos+step <= len(sums) && sums[pos+step-1] <= rank {
			pos += step
			rank -= sums[pos-1]
		}
	}
	return t.ranks.leaves[pos], rank
}
