package list

import "slices"

// Freeze returns the list as it is, for somebody who reads it while the list
// changes, in another goroutine even. No element is copied, only the chain of
// chunks: their arrays are shared from then on, and whichever list changes one
// makes it its own before.
func (l *List) Freeze() *List {
	n := 0
	for c := l.head; c != nil; c = c.next {
		n++
	}
	out := &List{}
	chunks := make([]chunk, n)
	for c := l.head; c != nil; c = c.next {
		c.shared = true
		chunks[0] = chunk{array: c.array, lo: c.lo, hi: c.hi, counted: c.counted, shared: true}
		out.link(&chunks[0], nil)
		chunks = chunks[1:]
	}
	out.length, out.bytes = l.length, l.bytes
	return out
}

// own makes a chunk's array its own before it changes.
func (c *chunk) own() {
	if c.shared {
		c.array, c.shared = slices.Clone(c.array), false
	}
}
