// Package dict is the hash table of the keyspace, of sets, hashes, and the member index of sorted sets. Its
// keys are byte strings; each key has a node with the value in it. It has three things that Go's map lacks
// and a Redis server needs: SCAN cursors that survive growing and shrinking, a uniform random pick, and
// stable node addresses.
//
// It is not a general map: it has no lock and no order, and the caller provides the hash. It knows nothing of
// shards, expiry or values.
//
// # Structure
//
// Linear hashing (Litwin, "Linear Hashing: A new tool for file and table addressing", VLDB 1980) with
// separate chaining. The table has n buckets, mask is the smallest 2^k-1 with n <= mask+1, and a hash h
// belongs to bucket h&mask or, if that bucket does not exist yet, to h&(mask>>1). Growing appends bucket n
// and moves its nodes there from its buddy n&(mask>>1); shrinking merges the last bucket into its buddy.
//
// Invariant, outside of Scan and All: Len() <= n <= max(4, 2*Len()+1), so the mean chain has between a half
// and one node (in a bucket that is yet to be split, up to two). Maintaining it takes at most one split for
// each insertion and two merges for each deletion, whatever the size.
//
// Redis has two tables while it resizes, moves buckets from one to the other, and has to allocate the whole
// second table at once. This is one table in segments of 1,024 buckets: the longest pause is to clear a
// segment, or to copy the list of segments (24 bytes for every 1,024 keys).
//
// This package is internal to zlimit: it may change in any release.
package dict

import (
	"hash/maphash"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
)

const (
	minBuckets = 4
	segBits    = 10
	segLen     = 1 << segBits
	segMask    = segLen - 1
)

// A Dict maps byte strings to nodes with a V. The zero value is empty and ready, and owns no memory. It must
// not be copied after first use, and is not safe for concurrent use. Len, Get, GetString and Random may run
// concurrently with each other.
type Dict[V any] struct {
	// Bucket i is segs[i>>segBits][i&segMask]. Only segs[0] may be shorter than segLen.
	segs   [][]*Node[V]
	n      uint64 // buckets in use
	mask   uint64 // smallest 2^k-1 >= n-1
	count  int
	nodes  int64 // memory of all nodes
	paused int   // calls of Scan and All in progress, during which the table is not resized
}

// One seed for the whole process, so that a node may move between tables, and clients cannot choose keys that
// fall into one bucket.
var seed = maphash.MakeSeed()

// Hash returns the hash of key that every Dict of this process expects. All its bits are equally good; a Dict
// uses the low ones. There are 32: a Dict of more keys than that would only have longer chains.
func Hash(key []byte) uint32 { return uint32(maphash.Bytes(seed, key)) }

// HashString is Hash for a string.
func HashString(key string) uint32 { return uint32(maphash.String(seed, key)) }

// Bytes returns the memory of the table and its nodes in bytes, without what values point to.
func (d *Dict[V]) Bytes() int64 { return d.nodes + d.TableBytes() }

// NodeBytes returns the nodes' part of Bytes.
func (d *Dict[V]) NodeBytes() int64 { return d.nodes }

// TableBytes returns the table's part of Bytes.
func (d *Dict[V]) TableBytes() int64 {
	if len(d.segs) == 0 {
		return 0
	}
	const segment = int(unsafe.Sizeof([]*Node[V](nil)))
	list := alloc.Pointers(cap(d.segs) * segment)
	if len(d.segs) == 1 {
		return list + alloc.Pointers(cap(d.segs[0])*BucketBytes)
	}
	return list + int64(len(d.segs))*segBytes
}

var segBytes = alloc.Pointers(segLen * BucketBytes)

// Len returns the number of keys.
func (d *Dict[V]) Len() int { return d.count }

// bucket returns the head of hash's chain. The table must not be empty.
func (d *Dict[V]) bucket(hash uint32) **Node[V] {
	i := d.index(uint64(hash))
	return &d.segs[i>>segBits][i&segMask]
}

// index returns the number of hash's bucket.
func (d *Dict[V]) index(hash uint64) uint64 {
	i := hash & d.mask
	if i >= d.n {
		i &= d.mask >> 1
	}
	return i
}

// Get returns the node of key, or nil if there is none. It does not allocate.
func (d *Dict[V]) Get(hash uint32, key []byte) *Node[V] {
	if d.n == 0 {
		return nil
	}
	for n := *d.bucket(hash); n != nil; n = n.next {
		if n.hash == hash && n.Key() == string(key) {
			return n
		}
	}
	return nil
}

// GetString is Get for a string.
func (d *Dict[V]) GetString(hash uint32, key string) *Node[V] {
	if d.n == 0 {
		return nil
	}
	for n := *d.bucket(hash); n != nil; n = n.next {
		if n.hash == hash && n.Key() == key {
			return n
		}
	}
	return nil
}

// GetHash returns a node with this hash, or nil if there is none.
func (d *Dict[V]) GetHash(hash uint32) *Node[V] {
	if d.n == 0 {
		return nil
	}
	for n := *d.bucket(hash); n != nil; n = n.next {
		if n.hash == hash {
			return n
		}
	}
	return nil
}

// Put returns the node of key. If there is none it makes one, with a copy of key and a zero Value, and
// created is true.
func (d *Dict[V]) Put(hash uint32, key []byte) (n *Node[V], created bool) {
	if n := d.Get(hash, key); n != nil {
		return n, false
	}
	return d.Add(hash, key), true
}

// PutWithRoom is Put, but a new node has room, unless its key is longer than MaxKeyWithRoom.
func (d *Dict[V]) PutWithRoom(hash uint32, key []byte) (n *Node[V], created bool) {
	if n := d.Get(hash, key); n != nil {
		return n, false
	}
	return d.AddWithRoom(hash, key), true
}

// Add is Put for a key that has no node.
func (d *Dict[V]) Add(hash uint32, key []byte) *Node[V] {
	n := newNode[V](hash, key)
	d.link(n)
	return n
}

// AddWithRoom is PutWithRoom for a key that has no node.
func (d *Dict[V]) AddWithRoom(hash uint32, key []byte) *Node[V] {
	n := newRoomyNode[V](hash, key)
	d.link(n)
	return n
}

// PutString is Put for a string.
func (d *Dict[V]) PutString(hash uint32, key string) (n *Node[V], created bool) {
	if n := d.GetString(hash, key); n != nil {
		return n, false
	}
	n = newNode[V](hash, key)
	d.link(n)
	return n, true
}

// Insert inserts a node that is in no Dict under its own key. It unlinks and returns the previous node of
// that key, if any.
func (d *Dict[V]) Insert(n *Node[V]) (replaced *Node[V]) {
	if old := d.GetString(n.hash, n.Key()); old != nil {
		d.Unlink(old)
		replaced = old
	}
	d.link(n)
	return replaced
}

func (d *Dict[V]) link(n *Node[V]) {
	if d.n == 0 {
		d.segs = [][]*Node[V]{make([]*Node[V], minBuckets)}
		d.n, d.mask = minBuckets, minBuckets-1
	}
	b := d.bucket(n.hash)
	n.next, *b = *b, n
	d.count++
	d.nodes += n.bytes()
	d.resize()
}

// Delete unlinks the node of key and returns it, or nil if there is none.
func (d *Dict[V]) Delete(hash uint32, key []byte) *Node[V] {
	if d.n == 0 {
		return nil
	}
	for p := d.bucket(hash); *p != nil; p = &(*p).next {
		if n := *p; n.hash == hash && n.Key() == string(key) {
			d.unlinkAt(p)
			return n
		}
	}
	return nil
}

// Unlink removes exactly this node, and reports whether it was in the table.
func (d *Dict[V]) Unlink(n *Node[V]) bool {
	if d.n == 0 {
		return false
	}
	for p := d.bucket(n.hash); *p != nil; p = &(*p).next {
		if *p == n {
			d.unlinkAt(p)
			return true
		}
	}
	return false
}

func (d *Dict[V]) unlinkAt(p **Node[V]) {
	n := *p
	*p, n.next = n.next, nil
	d.count--
	d.nodes -= n.bytes()
	d.resize()
}

// Clear removes every key and releases the table's memory. Nodes that the caller still has keep their key and
// value, but must not be unlinked or inserted.
func (d *Dict[V]) Clear() {
	d.segs, d.n, d.mask, d.count, d.nodes = nil, 0, 0, 0, 0
}
