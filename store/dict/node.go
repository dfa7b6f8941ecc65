package dict

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

// A Node is one key and its value. Its address is stable.
//
// The key is stored after the node in the same allocation, which saves an allocation and a cache line. Longer
// keys than maxShort are a string there instead. A node may have room before it, for a part of its value: see
// Room.
type Node[V any] struct {
	// Value belongs to the caller; it is zero in a new node.
	Value V

	next *Node[V]
	hash uint32
	// bits has, from the lowest on: the size of the key (plus roomy if the node has room), or longKey for a
	// string after the node; the caller's mark; the caller's stamp.
	bits uint32
}

const (
	sizeBits   = 7
	longKey    = 1<<sizeBits - 1
	markBit    = 1 << sizeBits
	stampShift = sizeBits + 1
	stampBits  = 32 - stampShift
	maxShort   = 72           // longest key that is stored after its node
	roomy      = maxShort + 1 // added to the size of the key in a node with room

	// MaxKeyWithRoom is the size of the longest key whose node may have room.
	MaxKeyWithRoom = 48
)

// RoomBytes is the size of a node's room.
const RoomBytes = 16

// MaxStamp is the largest stamp of a node.
const MaxStamp = 1<<stampBits - 1

// The node sizes, by the length of the key. If the size of Node[V] is a multiple of eight, as in the keyspace
// and in sorted sets, the allocator's rounding wastes less than sixteen bytes.
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

// The sizes of nodes with room.
type (
	room8[V any] struct {
		_ [RoomBytes]byte
		node8[V]
	}
	room16[V any] struct {
		_ [RoomBytes]byte
		node16[V]
	}
	room24[V any] struct {
		_ [RoomBytes]byte
		node24[V]
	}
	room32[V any] struct {
		_ [RoomBytes]byte
		node32[V]
	}
	room40[V any] struct {
		_ [RoomBytes]byte
		node40[V]
	}
	room48[V any] struct {
		_ [RoomBytes]byte
		node48[V]
	}
)

// newNode returns a node that is in no Dict. It copies key.
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
	copy(unsafe.Slice((*byte)(n.keyData()), len(key)), key)
	return n
}

// newRoomyNode is newNode for a node with room. A key longer than MaxKeyWithRoom has none.
func newRoomyNode[V any, K string | []byte](hash uint32, key K) *Node[V] {
	var n *Node[V]
	switch size := len(key); {
	case size <= 8:
		n = &new(room8[V]).Node
	case size <= 16:
		n = &new(room16[V]).Node
	case size <= 24:
		n = &new(room24[V]).Node
	case size <= 32:
		n = &new(room32[V]).Node
	case size <= 40:
		n = &new(room40[V]).Node
	case size <= MaxKeyWithRoom:
		n = &new(room48[V]).Node
	default:
		return newNode[V](hash, key)
	}
	n.hash, n.bits = hash, uint32(roomy+len(key))
	copy(unsafe.Slice((*byte)(n.keyData()), len(key)), key)
	return n
}

// Room returns the address of the node's room, RoomBytes before it, or nil if it has none. The room belongs
// to the caller and is zero in a new node. It must not contain pointers: the collector does not follow them.
func (n *Node[V]) Room() unsafe.Pointer {
	if size := n.bits & longKey; size < roomy || size == longKey {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(n), -RoomBytes)
}

// keyData returns the address after the node. Every node is embedded in one of the types above: only newNode
// and newRoomyNode make nodes.
func (n *Node[V]) keyData() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(n), unsafe.Sizeof(*n)) }

// Key returns the key.
func (n *Node[V]) Key() string {
	size := n.bits & longKey
	if size > maxShort {
		if size == longKey {
			return *(*string)(n.keyData())
		}
		size -= roomy
	}
	return unsafe.String((*byte)(n.keyData()), size)
}

// Hash returns the node's hash.
func (n *Node[V]) Hash() uint32 { return n.hash }

// Mark returns a bit that belongs to the caller, like Value; it is false in a new node.
func (n *Node[V]) Mark() bool { return n.bits&markBit != 0 }

// SetMark sets Mark.
func (n *Node[V]) SetMark(to bool) {
	n.bits &^= markBit
	if to {
		n.bits |= markBit
	}
}

// Stamp returns a number up to MaxStamp that belongs to the caller; it is 0 in a new node.
func (n *Node[V]) Stamp() uint32 { return n.bits >> stampShift }

// SetStamp sets Stamp.
func (n *Node[V]) SetStamp(to uint32) { n.bits = to<<stampShift | n.bits&(1<<stampShift-1) }

// Bytes returns the memory of the node in bytes: itself, its room and its key, as rounded by the allocator,
// and its bucket.
func (n *Node[V]) Bytes() int { return BucketBytes + int(n.bytes()) }

// BucketBytes is the size of a bucket.
const BucketBytes = int(unsafe.Sizeof(uintptr(0)))

func (n *Node[V]) bytes() int64 {
	size := int(unsafe.Sizeof(*n))
	if n.Room() != nil {
		size += RoomBytes
	}
	if key := len(n.Key()); key <= maxShort {
		return alloc.Pointers(size + max(key+7, 8)/8*8)
	}
	return alloc.Pointers(size+int(unsafe.Sizeof(""))) + alloc.Bytes(len(n.Key()))
}

// Renamed returns a node with another key and its hash, and this node's value and stamp, without room.
// Neither is in a Dict: remove this one and insert the other.
func (n *Node[V]) Renamed(hash uint32, key []byte) *Node[V] {
	to := newNode[V](hash, key)
	to.Value = n.Value
	to.SetStamp(n.Stamp())
	return to
}
