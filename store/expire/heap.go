package expire

func (x *Index[T]) at(i int) *slot[T] { return &x.chunks[i>>chunkBits][i&chunkMask] }

// set writes a slot and tells its item where it stands.
func (x *Index[T]) set(i int, s slot[T]) {
	*x.at(i) = s
	*x.handle(s.item) = Handle{bound: boundOf(s.dueMs), place: uint32(i) + 1}
}

// settle puts s at the free position i and restores the order.
func (x *Index[T]) settle(i int, s slot[T]) {
	if i > 0 && s.dueMs < x.at((i-1)/arity).dueMs {
		x.up(i, s)
		return
	}
	x.down(i, s)
}

// up moves the free position i towards the root until s fits.
func (x *Index[T]) up(i int, s slot[T]) {
	for i > 0 {
		parent := (i - 1) / arity
		p := x.at(parent)
		if p.dueMs <= s.dueMs {
			break
		}
		x.set(i, *p)
		i = parent
	}
	x.set(i, s)
}

// down moves the free position i away from the root until s fits.
func (x *Index[T]) down(i int, s slot[T]) {
	for {
		first := arity*i + 1
		if first >= x.n {
			break
		}
		least, leastDue := -1, s.dueMs
		for c := first; c < min(first+arity, x.n); c++ {
			if due := x.at(c).dueMs; due < leastDue {
				least, leastDue = c, due
			}
		}
		if least < 0 {
			break
		}
		x.set(i, *x.at(least))
		i = least
	}
	x.set(i, s)
}

// reserve makes room for slot n.
func (x *Index[T]) reserve() {
	switch {
	case x.n < chunkLen:
		if len(x.chunks) == 0 {
			x.chunks = [][]slot[T]{make([]slot[T], minSlots)}
		} else if first := x.chunks[0]; x.n == len(first) {
			grown := make([]slot[T], 2*len(first))
			copy(grown, first)
			x.chunks[0] = grown
		}
	case x.n>>chunkBits == len(x.chunks):
		x.chunks = append(x.chunks, make([]slot[T], chunkLen))
	}
}

// release gives back what n slots no longer need, but keeps half a chunk of
// slack, so that items coming and going at a border do not allocate.
func (x *Index[T]) release() {
	if x.n == 0 {
		x.chunks = nil
		return
	}
	if spare := len(x.chunks) - 1; spare > 0 {
		if x.n <= spare<<chunkBits-chunkLen/2 {
			x.chunks[spare] = nil
			x.chunks = x.chunks[:spare]
			if 4*len(x.chunks) <= cap(x.chunks) {
				x.chunks = append(make([][]slot[T], 0, 2*len(x.chunks)), x.chunks...)
			}
		}
		return
	}
	if first := x.chunks[0]; len(first) > minSlots && 4*x.n <= len(first) {
		x.chunks[0] = append(make([]slot[T], 0, len(first)/2), first[:len(first)/2]...)
	}
}
