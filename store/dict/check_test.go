package dict

import "fmt"

// check checks the invariants of the whole table.
func (d *Dict[V]) check() error {
	if d.n == 0 {
		if d.segs != nil || d.count != 0 || d.mask != 0 || d.nodes != 0 {
			return fmt.Errorf("empty table has segs %d, count %d, mask %d, %d bytes",
				len(d.segs), d.count, d.mask, d.nodes)
		}
		return nil
	}
	if d.paused != 0 {
		return fmt.Errorf("paused %d outside of Scan and All", d.paused)
	}
	if d.mask&(d.mask+1) != 0 || d.n > d.mask+1 || d.n <= d.mask>>1+1 {
		return fmt.Errorf("mask %#x does not belong to %d buckets", d.mask, d.n)
	}
	count := uint64(d.count)
	if d.n < count || d.n > max(minBuckets, 2*count+1) {
		return fmt.Errorf("%d buckets for %d keys", d.n, count)
	}
	size := uint64(0)
	for i, s := range d.segs {
		if i > 0 && len(s) != segLen || cap(s) > segLen {
			return fmt.Errorf("segment %d has %d buckets", i, len(s))
		}
		size += uint64(len(s))
	}
	if want := (d.n + segMask) >> segBits; uint64(len(d.segs)) != want {
		return fmt.Errorf("%d segments, want %d", len(d.segs), want)
	}
	if size < d.n || len(d.segs) == 1 && size > max(minBuckets, 2*d.n) {
		return fmt.Errorf("space for %d buckets, %d used", size, d.n)
	}
	seen, keys, bytes := uint64(0), map[string]bool{}, int64(0)
	for i := range size {
		for n := d.segs[i>>segBits][i&segMask]; n != nil; n = n.next {
			if i >= d.n || d.bucket(n.hash) != &d.segs[i>>segBits][i&segMask] {
				return fmt.Errorf("key %q with hash %#x is in bucket %d of %d", n.Key(), n.hash, i, d.n)
			}
			if keys[n.Key()] {
				return fmt.Errorf("key %q exists twice", n.Key())
			}
			keys[n.Key()] = true
			seen++
			bytes += n.bytes()
		}
	}
	if seen != count {
		return fmt.Errorf("Len is %d, the chains have %d", count, seen)
	}
	if bytes != d.nodes {
		return fmt.Errorf("the nodes take %d bytes, accounted are %d", bytes, d.nodes)
	}
	return nil
}
