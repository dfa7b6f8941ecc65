package dict

// resize restores the invariant of the number of buckets. That takes at most one split after an insertion,
// two merges after a deletion, and two for each deletion after a Scan or All that deleted.
func (d *Dict[V]) resize() {
	if d.paused > 0 {
		return
	}
	for uint64(d.count) > d.n {
		d.split()
	}
	for d.n > minBuckets && d.n > 2*uint64(d.count)+1 {
		d.merge()
	}
}

// split appends one bucket and moves its nodes there from its buddy.
func (d *Dict[V]) split() {
	last := d.n
	d.reserve(last)
	if last > d.mask {
		d.mask = d.mask<<1 | 1
	}
	buddy := last & (d.mask >> 1)
	stay := &d.segs[buddy>>segBits][buddy&segMask]
	move := &d.segs[last>>segBits][last&segMask]
	for n := *stay; n != nil; n = n.next {
		if uint64(n.hash)&d.mask == last {
			*move = n
			move = &n.next
		} else {
			*stay = n
			stay = &n.next
		}
	}
	*stay, *move = nil, nil
	d.n++
}

// merge merges the last bucket into its buddy.
func (d *Dict[V]) merge() {
	d.n--
	last := d.n
	from := &d.segs[last>>segBits][last&segMask]
	if chain := *from; chain != nil {
		buddy := last & (d.mask >> 1)
		to := &d.segs[buddy>>segBits][buddy&segMask]
		tail := chain
		for tail.next != nil {
			tail = tail.next
		}
		tail.next, *to, *from = *to, chain, nil
	}
	if d.n == d.mask>>1+1 {
		d.mask >>= 1
	}
	d.release()
}

// reserve allocates memory for bucket i, the first that does not exist.
func (d *Dict[V]) reserve(i uint64) {
	if i >= segLen {
		if i&segMask == 0 {
			d.segs = append(d.segs, make([]*Node[V], segLen))
		}
		return
	}
	if first := d.segs[0]; i == uint64(len(first)) {
		grown := make([]*Node[V], 2*len(first))
		copy(grown, first)
		d.segs[0] = grown
	}
}

// release releases memory that n buckets do not need. It is needed again only after Len() has doubled, so
// memory does not oscillate.
func (d *Dict[V]) release() {
	if d.n >= segLen {
		if d.n&segMask == 0 {
			d.segs[d.n>>segBits] = nil
			d.segs = d.segs[:d.n>>segBits]
			if 4*len(d.segs) <= cap(d.segs) {
				d.segs = append(make([][]*Node[V], 0, 2*len(d.segs)), d.segs...)
			}
		}
		return
	}
	if first := d.segs[0]; 2*d.n <= uint64(len(first)) {
		d.segs[0] = append(make([]*Node[V], 0, d.n), first[:d.n]...)
	}
}
