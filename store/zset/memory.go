package zset

import (
	"slices"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

// SetBytes is the memory of a Set without what its body points to, in bytes.
var SetBytes = alloc.Pointers(int(unsafe.Sizeof(Set{})))

var (
	packedSize   = alloc.Pointers(int(unsafe.Sizeof(packed{})))
	blocksBytes  = alloc.Pointers(int(unsafe.Sizeof(logBlocks{})))
	weightsBytes = alloc.Pointers(int(unsafe.Sizeof(weights{})))
	treeBytes    = alloc.Pointers(int(unsafe.Sizeof(tree{})))
	// leafBytes is a leaf without its items: itself, its entry in the directory, whose nodes are between half
	// and completely full, and its part of ranks.
	leafBytes = alloc.Pointers(int(unsafe.Sizeof(leaf{}))) + 2*int64(unsafe.Sizeof(leafRef{})) + 2*8
)

// Memory returns the memory of the set in bytes, itself included, in constant time.
func (s *Set) Memory() int64 { return SetBytes + s.BodyBytes() }

// BodyBytes is Memory without the Set itself.
func (s *Set) BodyBytes() int64 {
	switch s.kind {
	case kindBlock:
		if s.body != nil {
			return int64(scoreSize+s.turnSize()) + int64(len(s.buf())) // an allocator size class
		}
		return 0
	case kindBlocks:
		return s.blocks().bytes()
	case kindPacked:
		return packedSize + alloc.Bytes(cap(s.packed().data))
	default:
		return s.tree().bytes()
	}
}

func (b *logBlocks) bytes() int64 {
	n := int64(len(b.list) - b.head)
	if b.free != nil {
		n++
	}
	size := blocksBytes + alloc.Pointers(cap(b.list)*int(unsafe.Sizeof(logBlock{}))) + n*blockSize
	if w := b.weights; w != nil {
		size += weightsBytes + alloc.Bytes(cap(w.before)*scoreSize)
	}
	return size
}

func (t *tree) bytes() int64 {
	return treeBytes + t.index.Bytes() + t.itemsBytes + int64(t.leaves)*leafBytes + t.rest.bytes()
}

func itemsSize(n int) int64 { return alloc.Pointers(n * int(unsafe.Sizeof(item{}))) }

// Clone returns a deep copy.
func (s *Set) Clone() *Set {
	c := *s
	switch s.kind {
	case kindBlock:
		if s.body != nil {
			c.resizeBuf(len(s.buf()))
		}
	case kindBlocks:
		c.body = unsafe.Pointer(s.blocks().clone())
	case kindPacked:
		p := *s.packed()
		p.data = slices.Clone(p.data)
		c.body = unsafe.Pointer(&p)
	default:
		c.body = unsafe.Pointer(s.tree().clone())
	}
	return &c
}

func (b *logBlocks) clone() *logBlocks {
	c := b.copyList()
	for i := range c.list {
		data := *c.list[i].data
		c.list[i].data = &data
	}
	return c
}

func (t *tree) clone() *tree {
	c := newTree()
	if t.len() > 0 {
		t.ascend(0, func(e Entry) bool {
			var b [maxMember]byte
			c.append(e.AppendMember(b[:0]), e.Score)
			return true
		})
	}
	c.longest = t.longest
	return c
}
