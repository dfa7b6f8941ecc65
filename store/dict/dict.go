// Package dict is the hash table under the keyspace and under the member
// index of a sorted set: byte-string keys, one node per key that carries the
// value in place, and the three things Go's map cannot give a Redis server:
// SCAN cursors that survive growing and shrinking, a fair random pick, and
// node addresses that never change.
//
// It is not a general map: it has no lock, no ordering, and the caller brings
// the hash. It knows nothing of shards, expiry or values.
//
// # Structure
//
// Linear hashing (Litwin, "Linear Hashing: A new tool for file and table
// addressing", VLDB 1980) with separate chaining. The table has n buckets,
// mask is the smallest 2^k-1 with n <= mask+1, and a hash h belongs to bucket
// h&mask, or, where that bucket does not exist yet, to h&(mask>>1). Growing
// appends bucket n and moves into it what its buddy n&(mask>>1) held for it;
// shrinking takes the last bucket back into its buddy.
//
// Invariant, outside of Scan and All: Len() <= n <= max(4, 2*Len()+1), so the
// mean chain is between a half and one node (a bucket still waiting for its
// split, up to two). Keeping it takes at most one split per insertion and two
// joins per deletion, whatever the size.
//
// Redis keeps two tables while it resizes, moves buckets from one to the
// other, and has to allocate the whole second table at once. Here there is
// one table, in segments of 1,024 buckets: the longest pause is a segment to
// clear, or the list of segments (24 bytes for every 1,024 keys) to copy.
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

// Dict maps byte strings to nodes holding a V. The zero value is empty and
// ready, and owns no memory. It must not be copied once used, and is not safe
// for concurrent use; methods that change nothing (Len, Get, GetString,
// Random) may run beside each other.
type Dict[V any] struct {
	segs   [][]*Node[V] // bucket i is segs[i>>segBits][i&segMask]; only segs[0] may be shorter than segLen
	n      uint64       // buckets in use
	mask   uint64       // smallest 2^k-1 >= n-1
	count  int
	nodes  int64 // bytes of all nodes
	paused int   // Scan and All calls under way; the table keeps its shape meanwhile
}

// One seed for the whole process, so that a node may move between tables and
// nobody outside can choose keys that fall into one bucket.
var seed = maphash.MakeSeed()

// Hash returns the hash of key that every Dict of this process expects. All
// its bits are equally good; a Dict uses the low ones. There are 32 of them: a
// Dict of more keys than that would only have longer chains.
func Hash(key []byte) uint32 { return uint32(maphash.Bytes(seed, key)) }

// HashString is Hash for a string: equal bytes, equal hash.
func HashString(key string) uint32 { return uint32(maphash.String(seed, key)) }

// Bytes returns the memory that the table and its nodes take, in bytes; what
// values point to is not in it.
func (d *Dict[V]) Bytes() int64 { return d.nodes + d.TableBytes() }

// NodeBytes is the nodes' part of Bytes.
func (d *Dict[V]) NodeBytes() int64 { return d.nodes }

// TableBytes is the rest of Bytes.
func (d *Dict[V]) TableBytes() int64 {
	if len(d.segs) == 0 {
		return 0
	}
	const segment = int(unsafe.Sizeof([]*Node[V](nil)))
	list := alloc.Pointers(cap(d.segs) * segment)
	if len(d.segs) == 1 {
		return list + alloc.Pointers(cap(d.segs[0])*BucketBytes)
	}
	return list + int64(len(d.segs))*alloc.Pointers(segLen*BucketBytes)
}

// Len returns the number of keys.
func (d *Dict[V]) Len() int { return d.count }

// bucket returns where the chain of hash begins. The table must not be empty.
func (d *Dict[V]) bucket(hash uint32) **Node[V] {
	i := d.index(uint64(hash))
	return &d.segs[i>>segBits][i&segMask]
}

// index returns the number of the bucket to which a hash belongs.
func (d *Dict[V]) index(hash uint64) uint64 {
	i := hash & d.mask
	if i >= d.n {
		i &= d.mask >> 1
	}
	return i
}

// Get returns the node of key, nil if there is none. It does not allocate.
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

// Put returns the node of key. If there was none it makes one, with a copy of
// key and a zero Value, and created is true.
func (d *Dict[V]) Put(hash uint32, key []byte) (n *Node[V], created bool) {
	if n := d.Get(hash, key); n != nil {
		return n, false
	}
	n = newNode[V](hash, key)
	d.link(n)
	return n, true
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

// Insert files a node that is in no Dict under its own key. A node that held
// that key is unlinked and returned, otherwise nil.
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
	d.settle()
}

// Delete unlinks the node of key and returns it, nil if there is none.
func (d *Dict[V]) Delete(hash uint32, key []byte) *Node[V] {
	if d.n == 0 {
		return nil
	}
	for p := d.bucket(hash); *p != nil; p = &(*p).next {
		if n := *p; n.hash == hash && n.Key() == string(key) {
			d.cut(p)
			return n
		}
	}
	return nil
}

// Unlink takes out exactly this node, and tells whether it was there.
func (d *Dict[V]) Unlink(n *Node[V]) bool {
	if d.n == 0 {
		return false
	}
	for p := d.bucket(n.hash); *p != nil; p = &(*p).next {
		if *p == n {
			d.cut(p)
			return true
		}
	}
	return false
}

func (d *Dict[V]) cut(p **Node[V]) {
	n := *p
	*p, n.next = n.next, nil
	d.count--
	d.nodes -= n.bytes()
	d.settle()
}

// Clear forgets every key and the table's memory. Nodes held elsewhere keep
// their key and value, but must not be unlinked or inserted any more.
func (d *Dict[V]) Clear() {
	d.segs, d.n, d.mask, d.count, d.nodes = nil, 0, 0, 0, 0
}
