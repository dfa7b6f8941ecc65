package set

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

var (
	setBytes   = alloc.Pointers(int(unsafe.Sizeof(Set{})))
	tableBytes = alloc.Pointers(int(unsafe.Sizeof(table{})))
)

// Memory returns the memory of the set in bytes, itself included, in constant time.
func (s *Set) Memory() int64 {
	if s.table != nil {
		return setBytes + tableBytes + s.table.Bytes()
	}
	return setBytes + alloc.Bytes(cap(s.ints)*int(unsafe.Sizeof(s.ints[0])))
}
