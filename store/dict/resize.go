package dict

// settle brings the number of buckets back into the invariant. After one
// insertion or deletion that is at most one split or two joins; after a Scan
// or All whose callback deleted, at most two joins for each deletion.
func (d *Dict[V]) settle() {
	if d.paused > 0 {
		return
	}
	for uint64(d.count) > d.n {
		d.split()
	}
	for d.n > minBuckets && d.n > 2*uint64(d.count)+1 {
		d.join()
	}
}

// split appends one bucket and moves into it what its buddy held for it.
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

// join takes the last bucket back into its buddy.
func (d *Dict[V]) join() {
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

// reserve makes room for bucket i, the first that does not exist.
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

// release gives back what n buckets no longer need. What it frees is only
// wanted again after Len() has doubled, so memory does not flap.
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
