package list

import "slices"

// Freeze returns a copy that may be read, by another goroutine too, while the list changes. It copies only
// the chain of chunks. Their arrays are shared from then on; a list copies one before it changes it.
func (l *List) Freeze() *List {
	n := 0
	for c := l.head; c != nil; c = c.next {
		n++
	}
	out := &List{}
	chunks := make([]chunk, n)
	for c := l.head; c != nil; c = c.next {
		c.shared = true
		chunks[0] = chunk{array: c.array, lo: c.lo, hi: c.hi, accounted: c.accounted, shared: true}
		out.link(&chunks[0], nil)
		chunks = chunks[1:]
	}
	out.length, out.bytes = l.length, l.bytes
	return out
}

// unshare copies a chunk's array before it changes, if another list has it too.
func (c *chunk) unshare() {
	if c.shared {
		c.array, c.shared = slices.Clone(c.array), false
	}
}
