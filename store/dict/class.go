package dict

// Class calls fn for every node whose hash is i modulo m, a power of two. It reads the buckets that are i
// modulo m, or, if there are fewer than m buckets, the one that contains the class.
//
// fn may Delete or Unlink the node it is given; it must not delete other nodes.
func (d *Dict[V]) Class(i, m uint64, fn func(*Node[V])) {
	if d.n == 0 {
		return
	}
	d.paused++
	defer d.resume()
	for b := d.index(i); b < d.n; b += m {
		for n := d.segs[b>>segBits][b&segMask]; n != nil; {
			next := n.next // before fn unlinks n
			if uint64(n.hash)&(m-1) == i {
				fn(n)
			}
			n = next
		}
	}
}
