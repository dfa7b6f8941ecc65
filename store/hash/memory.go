package hash

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

var (
	hashBytes  = alloc.Pointers(int(unsafe.Sizeof(Hash{})))
	tableBytes = alloc.Pointers(int(unsafe.Sizeof(table{})))
)

// Memory returns the memory of the hash in bytes, itself included, in constant time.
func (h *Hash) Memory() int64 {
	if h.large != nil {
		return hashBytes + tableBytes + h.large.fields.Bytes() + h.large.valueBytes
	}
	return hashBytes + alloc.Single(cap(h.small.data))
}
