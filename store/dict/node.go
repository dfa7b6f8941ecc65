package dict

import "unsafe"

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
	size uint16 // of the key; longKey: a string lies behind the node
	mark bool   // the caller's, like tag
	tag  uint8
}

const longKey = 1<<16 - 1

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
	case size <= 72:
		n = &new(node72[V]).Node
	default:
		long := &nodeLong[V]{key: string(key)}
		long.hash, long.size = hash, longKey
		return &long.Node
	}
	n.hash, n.size = hash, uint16(len(key))
	copy(unsafe.Slice((*byte)(n.behind()), len(key)), key)
	return n
}

// behind is where the memory after the node's own begins. Every node is part
// of a piece above: newNode is the only place that makes one.
func (n *Node[V]) behind() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(n), unsafe.Sizeof(*n)) }

// Key returns the key.
func (n *Node[V]) Key() string {
	if n.size == longKey {
		return *(*string)(n.behind())
	}
	return unsafe.String((*byte)(n.behind()), n.size)
}

// Hash returns the hash under which the node is filed.
func (n *Node[V]) Hash() uint32 { return n.hash }

// Mark is a bit that belongs to the caller, like Value; it is false in a new node.
func (n *Node[V]) Mark() bool { return n.mark }

// SetMark sets the bit.
func (n *Node[V]) SetMark(to bool) { n.mark = to }

// Tag is a byte that belongs to the caller and goes with the value: what that
// is, where it does not say so itself. It is 0 in a new node.
func (n *Node[V]) Tag() uint8 { return n.tag }

// SetTag sets the byte.
func (n *Node[V]) SetTag(to uint8) { n.tag = to }

// Bytes returns the memory that the node takes, in bytes, its key and its place
// in the table included, as the allocator rounds it up.
func (n *Node[V]) Bytes() int {
	const bucket = 8
	size := int(unsafe.Sizeof(*n)) + bucket
	if n.size == longKey {
		return size + int(unsafe.Sizeof("")) + len(n.Key()) + 8
	}
	return bucket + (size-bucket+max(int(n.size)+7, 8)/8*8+15)/16*16
}

// Renamed returns a node with another key, the hash of that key, and this
// node's value and tag. Neither is in a Dict: Unlink or Delete this one, Insert the
// other there or elsewhere.
func (n *Node[V]) Renamed(hash uint32, key []byte) *Node[V] {
	to := newNode[V](hash, key)
	to.Value, to.tag = n.Value, n.tag
	return to
}
