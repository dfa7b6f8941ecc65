package zset

import "unsafe"

// Freeze returns the set as it is, for somebody who reads it while the set
// changes, in another goroutine even. It answers Len, Ascend and IsLog; nothing
// else may be asked of it.
//
// Nothing of a large set is copied but the list of its blocks or leaves: a
// two-hundredth or so. Those are shared from then on, and whoever changes one in
// the set makes it its own before.
func (s *Set) Freeze() *Set {
	switch s.kind {
	case kindBlocks:
		c := *s
		c.rest = unsafe.Pointer(s.blocks().freeze())
		return &c
	case kindTree:
		return &Set{rest: unsafe.Pointer(s.tree().freeze()), kind: kindFrozen}
	}
	return s.Clone()
}

func (b *logBlocks) freeze() *logBlocks {
	live := b.list[b.head:]
	for i := range live {
		live[i].shared = true
	}
	return &logBlocks{end: b.end, last: b.last, list: append([]logBlock(nil), live...)}
}

// own makes a block's data its own before they change.
func (b *logBlock) own() {
	if b.shared {
		data := *b.data
		b.data, b.shared = &data, false
	}
}

// frozen is a tree that is only read from one end to the other.
type frozen struct {
	n      int
	leaves [][]item
}

// Only where kind is kindFrozen.
func (s *Set) frozen() *frozen { return (*frozen)(s.rest) }

func (t *tree) freeze() *frozen {
	f := &frozen{n: t.len(), leaves: make([][]item, 0, 1+2*t.len()/leafSize)}
	for l := t.front; l != nil; l = l.next {
		l.shared = true
		f.leaves = append(f.leaves, l.items)
	}
	return f
}

// own makes a leaf's items its own before they change.
func (l *leaf) own() {
	if l.shared {
		l.items = append(make([]item, 0, cap(l.items)), l.items...)
		l.shared = false
	}
}

func (f *frozen) ascend(rank int, fn func(Entry) bool) {
	for _, items := range f.leaves {
		if rank >= len(items) {
			rank -= len(items)
			continue
		}
		for _, it := range items[rank:] {
			if !fn(it.entry()) {
				return
			}
		}
		rank = 0
	}
}
