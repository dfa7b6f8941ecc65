package dict

import "unsafe"

// ReadAhead reads the memory that First reads before the bucket. It returns a number without meaning, so that
// the read is not optimized away.
func (d *Dict[V]) ReadAhead(hash uint32) byte {
	if d.n == 0 {
		return 0
	}
	return *(*byte)(unsafe.Pointer(&d.segs[d.index(uint64(hash))>>segBits]))
}

// First returns the first node of hash's chain, or nil.
func (d *Dict[V]) First(hash uint32) *Node[V] {
	if d.n == 0 {
		return nil
	}
	return *d.bucket(hash)
}

// Next returns the next node of the same chain, or nil.
func (n *Node[V]) Next() *Node[V] { return n.next }
