// Package expire is the index of deadlines: it finds what is due next among
// the keys that have an expiry, so that they are reclaimed although nobody
// reads them. It holds no expiry of its own: the entry's is the truth, the
// index keeps a lower bound of it. It has no clock, no lock and no loop.
//
// # Structure
//
// A 4-ary heap of slots {dueMs, item} and, inside each item, a Handle with the
// item's place in the heap and, rounded up, its bound. A limiter extends its
// key's expiry on every hit; comparing the copy with the new deadline shows
// that the bound still holds, and the heap is not even read. When the bound
// comes due the caller looks at the entry, and files it again if the entry says
// later: once a window for a busy key, instead of once a hit.
//
// Redis samples random keys of its expires dictionary instead, and stops when
// few enough of them are due; here what is due is known exactly.
//
// Invariant: no slot is due before its parent, and a filed item's Handle
// agrees with its slot, as exactly as it can. Equal deadlines never move each other, so reclaiming a
// burst of them costs a constant each; the rest is O(log4 n).
//
// The heap lies in chunks of 1,024 slots: growing never copies more than one
// of them (and the list of chunks), and shrinking gives them back one by one.
package expire

import "math"

const (
	minSlots  = 4
	chunkBits = 10
	chunkLen  = 1 << chunkBits
	chunkMask = chunkLen - 1
	arity     = 4
)

// Handle is the part of the index that lives inside an item. The zero value
// means "not filed". Only an Index writes to it; it must move with its item,
// and be zero in an item that enters the index of another shard.
type Handle struct {
	bound uint32 // no less than the slot's dueMs, in units of 1,024 ms; distant: that or later
	place uint32 // 1 + position in the heap, 0 when not filed
}

const (
	boundBits = 10
	distant   = math.MaxUint32 // in the year 2109
)

// boundOf rounds a deadline up. One before the epoch counts as that.
func boundOf(dueMs int64) uint32 {
	const unit = 1 << boundBits
	switch {
	case dueMs <= 0:
		return 0
	case dueMs > (distant-1)*unit:
		return distant
	}
	return uint32((dueMs + unit - 1) >> boundBits)
}

// Filed tells whether the item is in an index.
func (h *Handle) Filed() bool { return h.place != 0 }

// Covers tells that File with this deadline would have nothing to do; it may not
// know it where the deadline is within a second or so of the bound. It is
// inlined and reads the Handle only: callers on a hot path ask it first.
func (h *Handle) Covers(dueMs int64) bool {
	return int64(h.bound)<<boundBits <= dueMs && h.place != 0 && h.bound != distant
}

type slot[T any] struct {
	dueMs int64
	item  T
}

// Index files items under deadlines. Make one with New. It is not safe for
// concurrent use.
//
// A deadline dueMs is the first millisecond at which the item is gone. With
// Redis' rule, that a key lives while now <= expireAtMs, it is expireAtMs+1;
// filing expireAtMs itself would make Due return a key that still lives, and a
// caller that files it again under the same deadline would not come to an end.
// Any int64 is a deadline.
type Index[T any] struct {
	handle func(T) *Handle
	chunks [][]slot[T] // slot i is chunks[i>>chunkBits][i&chunkMask]; only chunks[0] may be shorter than chunkLen
	n      int
}

// New returns an empty index, which owns no memory yet. handle returns the
// Handle inside an item, always the same one for the same item.
func New[T any](handle func(T) *Handle) *Index[T] {
	return &Index[T]{handle: handle}
}

// Len returns the number of filed items.
func (x *Index[T]) Len() int { return x.n }

// File makes sure that Due returns item at dueMs or before: it files an item
// that is not, moves one that is filed later, and does nothing to one that is
// filed at dueMs or earlier.
func (x *Index[T]) File(item T, dueMs int64) {
	h := x.handle(item)
	if h.Covers(dueMs) || h.place != 0 && x.at(int(h.place)-1).dueMs <= dueMs {
		return
	}
	x.put(item, h, dueMs)
}

// Refile files item under exactly dueMs, later or earlier than before. It is
// for an item that Due returned although its entry expires later.
func (x *Index[T]) Refile(item T, dueMs int64) {
	x.put(item, x.handle(item), dueMs)
}

func (x *Index[T]) put(item T, h *Handle, dueMs int64) {
	i := int(h.place) - 1
	if i < 0 {
		i = x.n
		x.reserve()
		x.n++
		x.up(i, slot[T]{dueMs, item})
		return
	}
	x.settle(i, slot[T]{dueMs, item})
}

// Remove takes item out, if it is filed.
func (x *Index[T]) Remove(item T) {
	h := x.handle(item)
	i := int(h.place) - 1
	if i < 0 {
		return
	}
	*h = Handle{}
	x.n--
	last := x.at(x.n)
	moved := *last
	*last = slot[T]{}
	if i != x.n {
		x.settle(i, moved)
	}
	x.release()
}

// Due returns an item with the earliest deadline if that is nowMs or before.
// The caller reclaims and Removes it, or Refiles it later; until then Due
// returns it again.
func (x *Index[T]) Due(nowMs int64) (item T, ok bool) {
	if x.n == 0 || x.chunks[0][0].dueMs > nowMs {
		return item, false
	}
	return x.chunks[0][0].item, true
}

// Next returns the earliest deadline, ok is false when nothing is filed. It is
// a lower bound: the entry may say later.
func (x *Index[T]) Next() (dueMs int64, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	return x.chunks[0][0].dueMs, true
}

// Reset forgets all items and the memory, at once: the items' handles are left
// as they are, so drop the items too (as FLUSHALL does) or zero their handles.
func (x *Index[T]) Reset() {
	x.chunks, x.n = nil, 0
}
