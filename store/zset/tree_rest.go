package zset

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/dict"
)

// This file is what a change of many members leaves to do, so that the change itself costs O(leaves) and
// others do not wait: the index is brought up to date in steps, by Finish.
//
//   - A log that becomes a tree keeps its numbers. Its leaves are unlisted: each is a range of the log's
//     ranks, whose members are not in the index. A leaf is listed, that is, given items and nodes, when a
//     member is added to it or removed from it.
//   - Removing many members drops their leaves. Their nodes stay in the index, dead: a node found there is a
//     member only if the order has it.

// deferFrom is how many members a change must have for the index to be left for later. It is a variable for
// tests.
var deferFrom = 4096

// listedAtOnce is the size of an unlisted leaf: what adding one member may cost, some tens of microseconds.
// It is a variable for tests.
var listedAtOnce = 4 * leafSize

// rest is what is left to do.
type rest struct {
	dropped []*leaf // lists of leaves: they count as leaves, and their nodes may be in the index still
	dead    int     // nodes of the index that are not in the order

	log      *Set // nil: there are no unlisted leaves
	parts    map[*leaf]part
	queue    []*leaf // with every unlisted leaf, and others
	unlisted int     // number of members in unlisted leaves
}

// A part is the members of an unlisted leaf: n ranks of the log.
type part struct{ from, n int }

const partBytes = 2 * int64(unsafe.Sizeof(part{})+unsafe.Sizeof(uintptr(0))) // in the map and the queue

func (r *rest) bytes() int64 {
	size := int64(len(r.parts)) * partBytes
	if r.log != nil {
		size += r.log.Memory()
	}
	return size
}

// Unfinished reports whether a change has left something for Finish to do.
func (s *Set) Unfinished() bool {
	return s.kind == kindTree && (s.tree().rest.dead > 0 || s.tree().rest.log != nil)
}

// Finish does what is left to do for about n members and returns how many there were. It changes nothing that
// other methods but Bytes return.
func (s *Set) Finish(n int) (done int) {
	for done < n && s.Unfinished() {
		t := s.tree()
		if len(t.rest.dropped) > 0 {
			done += t.unlinkDropped(n - done)
		} else {
			last := len(t.rest.queue) - 1
			l := t.rest.queue[last]
			t.rest.queue = t.rest.queue[:last]
			if l.unlisted {
				done += t.size(l)
				t.list(l)
			}
		}
	}
	return done
}

// newUnlistedTree returns a tree of a log's members. It keeps the log, which must not change any more.
func newUnlistedTree(log *Set) *tree {
	t := newTree()
	n := log.Len()
	t.rest = rest{log: log, parts: make(map[*leaf]part, n/listedAtOnce+1), unlisted: n}
	t.longest = log.longestMember()
	for from := 0; from < n; from += listedAtOnce {
		l := t.back
		if from > 0 {
			l = t.linkAfter(l)
		}
		l.unlisted = true
		t.rest.parts[l] = part{from, min(listedAtOnce, n-from)}
		t.rest.queue = append(t.rest.queue, l)
		t.addToDir(l)
	}
	return t
}

// size returns the number of a leaf's members.
func (t *tree) size(l *leaf) int {
	if l.unlisted {
		return t.rest.parts[l].n
	}
	return len(l.items)
}

// entryOf returns an entry of a leaf.
func (t *tree) entryOf(l *leaf, i int) Entry {
	if l.unlisted {
		return t.rest.log.At(t.rest.parts[l].from + i)
	}
	return l.items[i].entry()
}

// itemOf returns an item of a leaf. That of an unlisted one has no node.
func (t *tree) itemOf(l *leaf, i int) item {
	if l.unlisted {
		return item{score: float64(t.rest.log.logAt(int64(t.rest.parts[l].from + i)))}
	}
	return l.items[i]
}

// alive reports whether a node of the index is in the order.
func (t *tree) alive(n *node) bool {
	if t.rest.dead == 0 {
		return true
	}
	l := t.leafOf(item{n.Value, n})
	if l.unlisted {
		return false
	}
	i, ok := searchItems(l.items, item{n.Value, n})
	return ok && l.items[i].node == n
}

// findUnlisted returns the unlisted leaf that has a member, and the member's position in it, or nil.
func (t *tree) findUnlisted(member []byte) (*leaf, int) {
	if t.rest.log == nil {
		return nil, 0
	}
	rank, v, ok := t.rest.log.logFind(member)
	if !ok {
		return nil, 0
	}
	l := t.leafOf(item{score: float64(v)})
	if !l.unlisted {
		return nil, 0
	}
	p := t.rest.parts[l]
	if i := int(rank) - p.from; i >= 0 && i < p.n {
		return l, i
	}
	return nil, 0
}

// countUnlisted returns how many members of an unlisted leaf have a lower score.
func (t *tree) countUnlisted(l *leaf, score float64) int {
	p := t.rest.parts[l]
	return min(max(int(t.rest.log.countBelow(lowest(score, false)))-p.from, 0), p.n)
}

func (t *tree) ascendUnlisted(l *leaf, i int, fn func(Entry) bool) bool {
	return t.rest.parts[l].ascend(t.rest.log, i, fn)
}

// ascend calls fn for the members from the i-th on, until fn returns false, and returns false then.
func (p part) ascend(log *Set, i int, fn func(Entry) bool) bool {
	left, more := p.n-i, true
	log.logAscend(int64(p.from+i), func(e Entry) bool {
		more = fn(e)
		left--
		return more && left > 0
	})
	return more
}

// descendUnlisted calls fn for the members from the i-th downwards, until fn returns false, and returns false
// then.
func (t *tree) descendUnlisted(l *leaf, i int, fn func(Entry) bool) bool {
	left, more := i+1, true
	t.rest.log.logDescend(int64(t.rest.parts[l].from+i), func(e Entry) bool {
		more = fn(e)
		left--
		return more && left > 0
	})
	return more
}

// scanUnlisted calls fn for some members of unlisted leaves and returns the next cursor, 0 after the last
// one. The cursor is a score, as in a log, or 0.
func (t *tree) scanUnlisted(cursor uint64, fn func(Entry)) (next uint64) {
	if t.rest.log == nil {
		return 0
	}
	from := item{score: float64(-maxNumber)}
	if cursor != 0 {
		from.score = float64(int64(cursor&^scanLog) - maxNumber)
	}
	left := scanWhole
	for l := t.leafOf(from); l != nil && next == 0; l = l.next {
		if !l.unlisted {
			continue
		}
		i := t.countUnlisted(l, from.score)
		if i == t.size(l) {
			continue
		}
		t.ascendUnlisted(l, i, func(e Entry) bool {
			if left == 0 {
				next = scanLog | uint64(e.Number()+maxNumber)
				return false
			}
			left--
			fn(e)
			return true
		})
	}
	return next
}

// settle makes the index right for one member: it lists it, or unlinks a dead node of that name.
func (t *tree) settle(member []byte) {
	if t.rest.dead > 0 {
		hash := dict.Hash(member)
		if n := t.index.Get(hash, member); n != nil && !t.alive(n) {
			t.index.Unlink(n)
			t.rest.dead--
		}
	}
	if l, _ := t.findUnlisted(member); l != nil {
		t.list(l)
	}
}

// list gives an unlisted leaf items, and its members nodes.
func (t *tree) list(l *leaf) {
	p := t.rest.parts[l]
	t.removeFromDir(l)
	t.forget(l)
	log := t.rest.log
	at := l
	left := p.n
	log.logAscend(int64(p.from), func(e Entry) bool {
		if len(at.items) == leafSize {
			at = t.linkAfter(at)
		}
		var b [maxMember]byte
		member := e.AppendMember(b[:0])
		n, _ := t.index.Put(dict.Hash(member), member)
		n.Value = e.Score
		if at.items == nil {
			at.items = make([]item, 0, leafSize)
			t.updateItemsBytes(at)
		}
		at.items = append(at.items, item{n.Value, n})
		if len(at.items) == 1 {
			t.addToDir(at)
		}
		left--
		return left > 0
	})
	t.ranks.stale = true
	t.endOfLog()
}

// forget makes a leaf's part of the log belong to no leaf.
func (t *tree) forget(l *leaf) {
	t.rest.unlisted -= t.rest.parts[l].n
	delete(t.rest.parts, l)
	l.unlisted = false
}

// endOfLog releases the log if no leaf needs it.
func (t *tree) endOfLog() {
	if len(t.rest.parts) == 0 {
		t.rest.log, t.rest.parts, t.rest.queue = nil, nil, nil
	}
}

// listRanks lists the leaves that have the ranks [start, stop).
func (t *tree) listRanks(start, stop int) {
	for t.rest.log != nil && start < stop {
		l, i := t.locate(start)
		start += t.size(l) - i
		if l.unlisted {
			t.list(l)
		}
	}
}

// drop removes a leaf with all its items. The tree has others.
func (t *tree) drop(l *leaf) {
	t.removeFromDir(l)
	if l.unlisted {
		t.forget(l)
		t.endOfLog()
	}
	for _, it := range l.items {
		t.index.Unlink(it.node)
	}
	t.unlink(l)
}

// dropRanks removes the items with ranks in [start, stop) without looking at all of their leaves, and leaves
// the nodes in the index. It does nothing and returns false if there are too few leaves. Every leaf is
// listed, and some items stay.
func (t *tree) dropRanks(start, stop int) bool {
	first, from := t.locate(start)
	last, to := t.locate(stop - 1)
	begin, end := first, last
	if from > 0 {
		begin = first.next
	}
	if to++; to < len(last.items) {
		end = last.prev
	}
	if first == last || begin == last || first == end || begin == end {
		return false
	}
	n := stop - start
	if begin != first {
		n -= len(first.items) - from
	}
	if end != last {
		n -= to
	}
	t.dropFromDir(begin, end, n)
	t.cut(begin, end)
	t.rest.dropped = append(t.rest.dropped, begin)
	t.rest.dead += n
	if begin != first {
		t.unlinkItems(first, from, len(first.items))
	}
	if end != last {
		t.unlinkItems(last, 0, to)
		t.mergeOrShrink(last)
	}
	return true
}

// unlinkItems removes some items of a leaf, and their nodes.
func (t *tree) unlinkItems(l *leaf, i, j int) {
	for _, it := range l.items[i:j] {
		t.index.Unlink(it.node)
	}
	t.removeFromLeaf(l, i, j)
}

// dropFromDir removes the leaves from first to last, of n items, from the directory: one by one, or, if they
// are many of all, by copying the entries of the others, which are next to each other in memory.
func (t *tree) dropFromDir(first, last *leaf, n int) {
	if n/leafSize*4 < t.leaves {
		for l := first; l != last.next; l = l.next {
			t.removeFromDir(l)
		}
		return
	}
	from, through := leafRef{first: first.items[0]}, leafRef{first: last.items[0]}
	kept := newDir()
	t.dir.Ascend(func(r leafRef) bool {
		if lessRef(r, from) || lessRef(through, r) {
			kept.ReplaceOrInsert(r)
		}
		return true
	})
	t.dir = kept
}

// unlinkDropped unlinks up to n nodes of dropped leaves and returns how many it looked at. Some may have been
// unlinked by settle.
func (t *tree) unlinkDropped(n int) int {
	last := len(t.rest.dropped) - 1
	l := t.rest.dropped[last]
	n = min(n, len(l.items))
	for _, it := range l.items[len(l.items)-n:] {
		if t.index.Unlink(it.node) {
			t.rest.dead--
		}
	}
	if l.items = l.items[:len(l.items)-n]; len(l.items) > 0 {
		return n
	}
	t.leaves--
	t.itemsBytes -= itemsSize(int(l.capacity))
	if t.rest.dropped[last] = l.next; l.next == nil {
		t.rest.dropped = t.rest.dropped[:last]
	}
	return n
}
