package list

import "github.com/zlimit/zlimit/store/alloc"

// A List is a sequence of elements. The zero value is an empty list.
type List struct {
	head, tail *chunk
	length     int
	bytes      int64 // of chunks, arrays and elements: see memory.go
}

// Len returns the number of elements.
func (l *List) Len() int { return l.length }

// PushFront adds an element, which is copied, before all others.
func (l *List) PushFront(elem []byte) { l.pushFront(string(elem)) }

// PushBack adds an element, which is copied, behind all others.
func (l *List) PushBack(elem []byte) { l.pushBack(string(elem)) }

func (l *List) pushFront(elem string) {
	if l.head == nil {
		l.link(&chunk{}, nil)
	} else if l.head.len() == maxChunk {
		// A list that has filled one chunk will fill the next.
		l.link(&chunk{array: make([]string, maxChunk), lo: maxChunk, hi: maxChunk}, l.head)
	}
	l.head.pushFront(elem)
	l.came(l.head, elem)
}

func (l *List) pushBack(elem string) {
	if l.tail == nil {
		l.link(&chunk{}, nil)
	} else if l.tail.len() == maxChunk {
		l.link(&chunk{array: make([]string, maxChunk)}, nil)
	}
	l.tail.pushBack(elem)
	l.came(l.tail, elem)
}

// PopFront removes the first element; ok is false where there is none.
func (l *List) PopFront() (elem string, ok bool) {
	if l.length == 0 {
		return "", false
	}
	elem = l.head.popFront()
	l.left(elem)
	if l.head.len() == 0 {
		l.unlink(l.head)
	}
	return elem, true
}

// PopBack removes the last element; ok is false where there is none.
func (l *List) PopBack() (elem string, ok bool) {
	if l.length == 0 {
		return "", false
	}
	elem = l.tail.popBack()
	l.left(elem)
	if l.tail.len() == 0 {
		l.unlink(l.tail)
	}
	return elem, true
}

// At returns the element at index i, 0 <= i < Len.
func (l *List) At(i int) string {
	c, at := l.find(i)
	return c.elems()[at]
}

// Set replaces the element at index i, 0 <= i < Len, by a copy of elem.
func (l *List) Set(i int, elem []byte) {
	c, at := l.find(i)
	c.own()
	place := &c.elems()[at]
	l.bytes += alloc.Bytes(len(elem)) - alloc.Bytes(len(*place))
	*place = string(elem)
}

// Insert adds a copy of elem so that it gets index i, 0 <= i <= Len.
func (l *List) Insert(i int, elem []byte) {
	switch i {
	case 0:
		l.PushFront(elem)
		return
	case l.length:
		l.PushBack(elem)
		return
	}
	c, at := l.find(i)
	if c.len() == maxChunk {
		rest := c.split()
		l.link(rest, c.next)
		l.count(rest)
		if at > c.len() {
			c, at = rest, at-c.len()
		}
	}
	c.insert(at, string(elem))
	l.came(c, c.elems()[at])
}

// Keep removes everything but the elements from index from up to, not
// including, to. It requires 0 <= from and to <= Len; nothing is kept where
// from >= to.
func (l *List) Keep(from, to int) {
	if from >= to {
		*l = List{}
		return
	}
	behind := l.length - to
	for from >= l.head.len() {
		from -= l.head.len()
		l.left(l.head.elems()...)
		l.unlink(l.head)
	}
	for behind >= l.tail.len() {
		behind -= l.tail.len()
		l.left(l.tail.elems()...)
		l.unlink(l.tail)
	}
	l.left(l.head.elems()[:from]...)
	l.head.dropFront(from)
	l.left(l.tail.elems()[l.tail.len()-behind:]...)
	l.tail.dropBack(behind)
	l.join(l.head, l.head)
	l.join(l.tail, l.tail)
}

// Remove removes up to limit elements (all where it is 0) that equal elem, the
// first ones or, where fromBack, the last ones, and returns how many it removed.
func (l *List) Remove(elem []byte, limit int, fromBack bool) (removed int) {
	if limit == 0 {
		limit = l.length
	}
	start, step := l.head, func(c *chunk) *chunk { return c.next }
	if fromBack {
		start, step = l.tail, func(c *chunk) *chunk { return c.prev }
	}
	end := start
	for c := start; c != nil && removed < limit; c = step(c) {
		removed += c.remove(elem, limit-removed, fromBack)
		end = c
	}
	l.length -= removed
	l.bytes -= int64(removed) * alloc.Bytes(len(elem))
	if removed > 0 {
		if fromBack {
			start, end = end, start
		}
		l.join(start, end)
	}
	return removed
}

// Ascend calls fn for the elements from index i on, in order, until it returns
// false. The list must not change meanwhile.
func (l *List) Ascend(i int, fn func(elem string) bool) {
	if i >= l.length {
		return
	}
	for c, at := l.find(i); c != nil; c, at = c.next, 0 {
		for _, e := range c.elems()[at:] {
			if !fn(e) {
				return
			}
		}
	}
}

// Descend is Ascend backwards: from index i down to 0.
func (l *List) Descend(i int, fn func(elem string) bool) {
	if i < 0 {
		return
	}
	for c, at := l.find(i); c != nil; {
		elems := c.elems()
		for ; at >= 0; at-- {
			if !fn(elems[at]) {
				return
			}
		}
		if c = c.prev; c != nil {
			at = c.len() - 1
		}
	}
}

// find returns the chunk of index i, 0 <= i < Len, and the place in it, walking
// from the nearer end.
func (l *List) find(i int) (c *chunk, at int) {
	if i < l.length/2 {
		for c = l.head; i >= c.len(); c = c.next {
			i -= c.len()
		}
		return c, i
	}
	i = l.length - 1 - i
	for c = l.tail; i >= c.len(); c = c.prev {
		i -= c.len()
	}
	return c, c.len() - 1 - i
}

// link puts c into the chain before next, at the end where that is nil.
func (l *List) link(c, next *chunk) {
	c.next = next
	if next == nil {
		c.prev, l.tail = l.tail, c
	} else {
		c.prev, next.prev = next.prev, c
	}
	if c.prev == nil {
		l.head = c
	} else {
		c.prev.next = c
	}
	l.bytes += chunkBytes
}

func (l *List) unlink(c *chunk) {
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.tail = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	l.bytes -= chunkBytes + arrayBytes(int(c.counted))
	c.counted = 0
}

// join restores the invariant for the chunks from first to last, which may have
// become empty or small, and their neighbours.
func (l *List) join(first, last *chunk) {
	c := first
	if c.prev != nil {
		c = c.prev
	}
	for {
		switch n := c.next; {
		case n != nil && c.len()+n.len() <= joined:
			c.take(n)
			l.count(c)
			if n == last {
				last = c
			}
			l.unlink(n)
			continue // what follows may be small too
		case c == last || n == nil:
			if c.len() == 0 {
				l.unlink(c)
			} else {
				c.shrink()
				l.count(c)
			}
			return
		case c.len() == 0:
			// n alone is too large to be taken in.
			l.unlink(c)
			c = n
		default:
			c.shrink()
			l.count(c)
			c = n
		}
	}
}

// Clone returns a list of the same elements that changes by itself.
func (l *List) Clone() *List {
	out := &List{}
	l.Ascend(0, func(elem string) bool {
		out.pushBack(elem)
		return true
	})
	return out
}
