package zset

import "unsafe"

// Freeze returns a copy that stays as it is while the set changes, and may be read by another goroutine. Only
// Len, Ascend and IsLog may be called on it.
//
// Of a large set, Freeze copies only the list of blocks or leaves: a two-hundredth or so. Those are shared
// from then on; the set copies one before it changes it.
func (s *Set) Freeze() *Set {
	switch s.kind {
	case kindBlocks:
		c := *s
		c.body = unsafe.Pointer(s.blocks().freeze())
		return &c
	case kindTree:
		return &Set{body: unsafe.Pointer(s.tree().freeze()), kind: kindFrozen}
	}
	return s.Clone()
}

func (b *logBlocks) freeze() *logBlocks {
	live := b.list[b.head:]
	for i := range live {
		live[i].shared = true
	}
	return b.copyList()
}

// copyList returns a copy that has the same blocks.
func (b *logBlocks) copyList() *logBlocks {
	c := &logBlocks{end: b.end, last: b.last, list: append([]logBlock(nil), b.list[b.head:]...)}
	if w := b.weights; w != nil {
		c.weights = &weights{turn: w.turn, before: append([]int64(nil), w.before[b.head:]...), end: w.end}
	}
	return c
}

// unshare copies a block's data before they change, if a frozen log has them too.
func (b *logBlock) unshare() {
	if b.shared {
		data := *b.data
		b.data, b.shared = &data, false
	}
}

// frozen is a read-only tree that can only be iterated in order.
type frozen struct {
	n      int
	leaves []frozenLeaf
	log    *Set // nil: every leaf has items
}

// A frozenLeaf has items or, if they are nil, a part of the log.
type frozenLeaf struct {
	items []item
	part  part
}

// frozen requires kindFrozen.
func (s *Set) frozen() *frozen { return (*frozen)(s.body) }

func (t *tree) freeze() *frozen {
	f := &frozen{n: t.len(), leaves: make([]frozenLeaf, 0, t.leaves), log: t.rest.log}
	for l := t.front; l != nil; l = l.next {
		l.shared = !l.unlisted
		f.leaves = append(f.leaves, frozenLeaf{l.items, t.rest.parts[l]})
	}
	return f
}

// unshare copies a leaf's items before they change, if a frozen tree has them too.
func (l *leaf) unshare() {
	if l.shared {
		l.items = append(make([]item, 0, cap(l.items)), l.items...)
		l.shared = false
	}
}

func (f *frozen) ascend(rank int, fn func(Entry) bool) {
	for _, l := range f.leaves {
		if size := len(l.items) + l.part.n; rank >= size {
			rank -= size
			continue
		}
		if l.items == nil {
			if !l.part.ascend(f.log, rank, fn) {
				return
			}
			rank = 0
			continue
		}
		for _, it := range l.items[rank:] {
			if !fn(it.entry()) {
				return
			}
		}
		rank = 0
	}
}
