package list

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

// Memory returns the memory of the list in bytes, itself included.
func (l *List) Memory() int64 { return listBytes + l.bytes }

var (
	listBytes  = alloc.Pointers(int(unsafe.Sizeof(List{})))
	chunkBytes = alloc.Pointers(int(unsafe.Sizeof(chunk{})))
)

// Encoding returns the reply of OBJECT ENCODING, of any size: only Redis 7.2 has listpacks for small lists.
func (l *List) Encoding() string { return "quicklist" }

// arrayBytes returns the memory of an array of n elements, without the elements.
func arrayBytes(n int) int64 { return alloc.Pointers(n * int(unsafe.Sizeof(""))) }

// accountAdded accounts for an element that was added to a chunk.
func (l *List) accountAdded(c *chunk, elem string) {
	l.length++
	l.bytes += alloc.Bytes(len(elem))
	l.accountArray(c)
}

// accountRemoved accounts for elements that were or will be removed.
func (l *List) accountRemoved(elems ...string) {
	l.length -= len(elems)
	for _, e := range elems {
		l.bytes -= alloc.Bytes(len(e))
	}
}

// accountArray accounts for a chunk's array, which may have grown or shrunk.
func (l *List) accountArray(c *chunk) {
	if size := uint16(len(c.array)); size != c.accounted {
		l.bytes += arrayBytes(int(size)) - arrayBytes(int(c.accounted))
		c.accounted = size
	}
}
