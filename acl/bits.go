package acl

// bits is a set of command numbers.
type bits []uint64

func (b bits) has(id int) bool { return b[id>>6]>>(id&63)&1 != 0 }

func (b bits) set(id int, on bool) {
	if on {
		b[id>>6] |= 1 << (id & 63)
	} else {
		b[id>>6] &^= 1 << (id & 63)
	}
}

// fill makes the set full or empty.
func (b bits) fill(on bool) {
	word := uint64(0)
	if on {
		word = ^word
	}
	for i := range b {
		b[i] = word
	}
}
