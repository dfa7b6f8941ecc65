package dict

import (
	"iter"
	"math/bits"
)

// Scan calls fn for every node of one bucket and returns the cursor of the next call; a scan starts and ends
// at 0. A node that is in the table during the whole scan is seen at least once, however the table grows or
// shrinks; nodes that are added or deleted meanwhile may be seen or not, and a node may be seen twice after
// the table has shrunk.
//
// Read a hash with its lowest bit first, as a binary fraction: each bucket is then an interval of [0,1), a
// split halves an interval, and a merge unites two halves. The cursor, in that reading, is the point up to
// which everything has been seen; a call visits the bucket at that point and advances to the end of its
// interval. (Redis' dictScan increments the same reversed cursor.)
//
// Any cursor is valid. The returned one is below twice the largest number of buckets, so its upper bits are
// free.
//
// fn may Delete or Unlink the node it is given and may Get and Put; it must not delete other nodes.
func (d *Dict[V]) Scan(cursor uint64, fn func(*Node[V])) (next uint64) {
	if d.n == 0 {
		return 0
	}
	mask := d.mask
	if half := mask >> 1; cursor&half+half+1 >= d.n {
		mask = half // the bucket at this point has not been split yet
	}
	d.visit(cursor&mask, fn)
	return bits.Reverse64(bits.Reverse64(cursor|^mask) + 1)
}

func (d *Dict[V]) visit(i uint64, fn func(*Node[V])) {
	d.paused++
	defer d.resume()
	for n := d.segs[i>>segBits][i&segMask]; n != nil; {
		next := n.next // before fn unlinks n
		fn(n)
		n = next
	}
}

func (d *Dict[V]) resume() {
	d.paused--
	d.resize()
}

// All iterates over every node once, in no particular order. The loop may Delete or Unlink its node, Get and
// Put; it must not delete other nodes. Nodes that it puts may be seen or not. The table is not resized until
// the loop ends.
func (d *Dict[V]) All() iter.Seq[*Node[V]] {
	return func(yield func(*Node[V]) bool) {
		d.paused++
		defer d.resume()
		for i := uint64(0); i < d.n; i++ {
			for n := d.segs[i>>segBits][i&segMask]; n != nil; {
				next := n.next
				if !yield(n) {
					return
				}
				n = next
			}
		}
	}
}
