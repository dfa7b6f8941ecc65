package zset

import (
	"slices"
	"unsafe"
)

// Bytes returns the memory the set owns, itself included, in bytes: an
// estimate from the sizes of its parts, which the allocator rounds up.
func (s *Set) Bytes() int64 {
	size := int64(unsafe.Sizeof(*s))
	switch s.kind {
	case kindBlock:
		if s.rest != nil {
			size += int64(scoreSize + len(s.room()))
		}
		return size
	case kindBlocks:
		return size + s.blocks().bytes()
	case kindPacked:
		return size + int64(unsafe.Sizeof(packed{})) + int64(cap(s.packed().data))
	default:
		return size + s.tree().bytes()
	}
}

func (b *logBlocks) bytes() int64 {
	n := int64(len(b.list) - b.head)
	if b.free != nil {
		n++
	}
	return int64(unsafe.Sizeof(*b)) + int64(cap(b.list))*int64(unsafe.Sizeof(logBlock{})) + n*blockSize
}

// Clone returns a copy that shares nothing with the set.
func (s *Set) Clone() *Set {
	c := *s
	switch s.kind {
	case kindBlock:
		if s.rest != nil {
			c.setRoom(len(s.room()))
		}
	case kindBlocks:
		c.rest = unsafe.Pointer(s.blocks().clone())
	case kindPacked:
		p := *s.packed()
		p.data = slices.Clone(p.data)
		c.rest = unsafe.Pointer(&p)
	default:
		c.rest = unsafe.Pointer(s.tree().clone())
	}
	return &c
}

func (b *logBlocks) clone() *logBlocks {
	c := &logBlocks{end: b.end, last: b.last, list: append([]logBlock(nil), b.list[b.head:]...)}
	for i := range c.list {
		data := *c.list[i].data
		c.list[i].data = &data
	}
	return c
}

func (t *tree) clone() *tree {
	c := newTree()
	for l := t.front; l != nil; l = l.next {
		for _, it := range l.items {
			c.append([]byte(it.node.Key()), it.score)
		}
	}
	c.longest = t.longest
	return c
}

// bytes counts what a node, its key and its bucket take; the directory's share
// is below a byte a member.
func (t *tree) bytes() int64 {
	const perNode = int64(unsafe.Sizeof(node{})) + 8 + 8 // the node, its bucket, the allocator's rounding of both
	size := int64(unsafe.Sizeof(*t)) + int64(t.len())*perNode + t.memberBytes
	leaves := int64(0)
	for l := t.front; l != nil; l = l.next {
		leaves++
		size += int64(unsafe.Sizeof(*l)) + int64(cap(l.items))*int64(unsafe.Sizeof(item{}))
	}
	return size + int64(cap(t.ranks.sums))*16 + leaves*int64(unsafe.Sizeof(leafRef{}))*2
}
