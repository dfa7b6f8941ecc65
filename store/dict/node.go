package dict

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

// Node is one key and its value. Its address is stable from Put until the
// garbage collector takes it: growing and shrinking keep it.
//
// The key lies behind the node, in the same piece of memory: one allocation
// and one cache line fewer than a string beside it. A key that is longer than
// the largest of those pieces has a string there instead.
type Node[V any] struct {
	// Value belongs to the caller; Put leaves it the zero V.
	Value V

	next *Node[V]
	hash uint32
	// bits are, from the lowest on: the size of the key, of which longKey says that
	// a string lies behind the node; the caller's mark; the caller's stamp.
	bits uint32
}

const (
	sizeBits  = 7
	longKey   = 1<<sizeBits - 1
	markBit   = 1 << sizeBits
	stampAt   = sizeBits + 1
	stampBits = 32 - stampAt
	maxShort  = 72 // the longest key that lies behind its node
)

// MaxStamp is the largest stamp that a node keeps.
const MaxStamp = 1<<stampBits - 1

// The pieces, by what they hold behind the node: with its own size a multiple of
// eight, which those of the keyspace and of sorted sets are, the allocator's
// rounding leaves less than sixteen bytes of any unused.
type (
	node8[V any] struct {
		Node[V]
		_ [8]byte
	}
	node16[V any] struct {
		Node[V]
		_ [16]byte
	}
	node24[V any] struct {
		Node[V]
		_ [24]byte
	}
	node32[V any] struct {
		Node[V]
		_ [32]byte
	}
	node40[V any] struct {
		Node[V]
		_ [40]byte
	}
	node48[V any] struct {
		Node[V]
		_ [48]byte
	}
	node56[V any] struct {
		Node[V]
		_ [56]byte
	}
	node64[V any] struct {
		Node[V]
		_ [64]byte
	}
	node72[V any] struct {
		Node[V]
		_ [72]byte
	}
	nodeLong[V any] struct {
		Node[V]
		key string
	}
)

// newNode makes a node that is in no Dict. It copies key.
func newNode[V any, K string | []byte](hash uint32, key K) *Node[V] {
	var n *Node[V]
	switch size := len(key); {
	case size <= 8:
		n = &new(node8[V]).Node
	case size <= 16:
		n = &new(node16[V]).Node
	case size <= 24:
		n = &new(node24[V]).Node
	case size <= 32:
		n = &new(node32[V]).Node
	case size <= 40:
		n = &new(node40[V]).Node
	case size <= 48:
		n = &new(node48[V]).Node
	case size <= 56:
		n = &new(node56[V]).Node
	case size <= 64:
		n = &new(node64[V]).Node
	case size <= maxShort:
		n = &new(node72[V]).Node
	default:
		long := &nodeLong[V]{key: string(key)}
		long.hash, long.bits = hash, longKey
		return &long.Node
	}
	n.hash, n.bits = hash, uint32(len(key))
	copy(unsafe.Slice((*byte)(n.behind()), len(key)), key)
	return n
}

// behind is where the memory after the node's own begins. Every node is part
// of a piece above: newNode is the only place that makes one.
func (n *Node[V]) behind() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(n), unsafe.Sizeof(*n)) }

// Key returns the key.
func (n *Node[V]) Key() string {
	if size := n.bits & longKey; size != longKey {
		return unsafe.String((*byte)(n.behind()), size)
	}
	return *(*string)(n.behind())
}

// Hash returns the hash under which the node is filed.
func (n *Node[V]) Hash() uint32 { return n.hash }

// Mark is a bit that belongs to the caller, like Value; it is false in a new node.
func (n *Node[V]) Mark() bool { return n.bits&markBit != 0 }

// SetMark sets the bit.
func (n *Node[V]) SetMark(to bool) {
	n.bits &^= markBit
	if to {
		n.bits |= markBit
	}
}

// Stamp is a number up to MaxStamp that belongs to the caller; it is 0 in a new
// node.
func (n *Node[V]) Stamp() uint32 { return n.bits >> stampAt }

// SetStamp sets the number.
func (n *Node[V]) SetStamp(to uint32) { n.bits = to<<stampAt | n.bits&(1<<stampAt-1) }

// Bytes returns the memory that the node takes, in bytes: itself and its key, as
// the allocator rounds them up, and its place in the table.
func (n *Node[V]) Bytes() int { return BucketBytes + int(n.bytes()) }

// BucketBytes is the place of a node in the table.
const BucketBytes = int(unsafe.Sizeof(uintptr(0)))

func (n *Node[V]) bytes() int64 {
	size := int(unsafe.Sizeof(*n))
	if key := int(n.bits & longKey); key != longKey {
		return alloc.Pointers(size + max(key+7, 8)/8*8)
	}
	return alloc.Pointers(size+int(unsafe.Sizeof(""))) + alloc.Bytes(len(n.Key()))
}

// Renamed returns a node with another key, the hash of that key, and this
// node's value and stamp. Neither is in a Dict: Unlink or Delete this one, Insert
// the other there or elsewhere.
func (n *Node[V]) Renamed(hash uint32, key []byte) *Node[V] {
	to := newNode[V](hash, key)
	to.Value = n.Value
	to.SetStamp(n.Stamp())
	return to
}
