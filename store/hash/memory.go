package hash

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

var (
	hashBytes  = alloc.Pointers(int(unsafe.Sizeof(Hash{})))
	tableBytes = alloc.Pointers(int(unsafe.Sizeof(table{})))
)

// Bytes returns the memory that the hash takes, itself included, in bytes. It
// takes the same time however large the hash is.
func (h *Hash) Bytes() int64 {
	if h.large != nil {
		return hashBytes + tableBytes + h.large.fields.Bytes() + h.large.texts
	}
	return hashBytes + alloc.Alone(cap(h.small.data))
}
