package list

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

// Bytes returns the memory that the list takes, itself included, in bytes.
func (l *List) Bytes() int64 { return listBytes + l.bytes }

var (
	listBytes  = alloc.Pointers(int(unsafe.Sizeof(List{})))
	chunkBytes = alloc.Pointers(int(unsafe.Sizeof(chunk{})))
)

// arrayBytes is what an array of n elements takes without them.
func arrayBytes(n int) int64 { return alloc.Pointers(n * int(unsafe.Sizeof(""))) }

// came counts an element that was added to a chunk.
func (l *List) came(c *chunk, elem string) {
	l.length++
	l.bytes += alloc.Bytes(len(elem))
	l.count(c)
}

// left counts elements that were taken out, or are about to be.
func (l *List) left(elems ...string) {
	l.length -= len(elems)
	for _, e := range elems {
		l.bytes -= alloc.Bytes(len(e))
	}
}

// count follows the array of a chunk, which may have grown or shrunk.
func (l *List) count(c *chunk) {
	if size := uint16(len(c.array)); size != c.counted {
		l.bytes += arrayBytes(int(size)) - arrayBytes(int(c.counted))
		c.counted = size
	}
}
