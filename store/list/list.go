package list

import "github.com/zlimit/zlimit/store/alloc"

// A List is a sequence of elements. The zero value is an empty list.
type List struct {
	head, tail *chunk
	length     int
	bytes      int64 // memory of chunks, arrays and elements; see memory.go
}

// Len returns the number of elements.
func (l *List) Len() int { return l.length }

// PushFront inserts a copy of elem before all others.
func (l *List) PushFront(elem []byte) { l.pushFront(string(elem)) }

// PushBack inserts a copy of elem after all others.
func (l *List) PushBack(elem []byte) { l.pushBack(string(elem)) }

func (l *List) pushFront(elem string) {
	if l.head == nil {
		l.link(&chunk{}, nil)
	} else if l.head.len() == maxChunk {
		// A list that has filled one chunk will probably fill the next.
		l.link(&chunk{array: make([]string, maxChunk), lo: maxChunk, hi: maxChunk}, l.head)
	}
	l.head.pushFront(elem)
	l.accountAdded(l.head, elem)
}

func (l *List) pushBack(elem string) {
	if l.tail == nil {
		l.link(&chunk{}, nil)
	} else if l.tail.len() == maxChunk {
		l.link(&chunk{array: make([]string, maxChunk)}, nil)
	}
	l.tail.pushBack(elem)
	l.accountAdded(l.tail, elem)
}

// PopFront removes the first element; ok is false if there is none.
func (l *List) PopFront() (elem string, ok bool) {
	if l.length == 0 {
		return "", false
	}
	elem = l.head.popFront()
	l.accountRemoved(elem)
	if l.head.len() == 0 {
		l.unlink(l.head)
	}
	return elem, true
}

// PopBack removes the last element; ok is false if there is none.
func (l *List) PopBack() (elem string, ok bool) {
	if l.length == 0 {
		return "", false
	}
	elem = l.tail.popBack()
	l.accountRemoved(elem)
	if l.tail.len() == 0 {
		l.unlink(l.tail)
	}
	return elem, true
}

// At returns the element at index i, 0 <= i < Len.
func (l *List) At(i int) string {
	c, at := l.chunkAt(i)
	return c.elems()[at]
}

// Set replaces the element at index i, 0 <= i < Len, with a copy of elem.
func (l *List) Set(i int, elem []byte) {
	c, at := l.chunkAt(i)
	c.unshare()
	slot := &c.elems()[at]
	l.bytes += alloc.Bytes(len(elem)) - alloc.Bytes(len(*slot))
	*slot = string(elem)
}

// Insert inserts a copy of elem at index i, 0 <= i <= Len.
func (l *List) Insert(i int, elem []byte) {
	switch i {
	case 0:
		l.PushFront(elem)
		return
	case l.length:
		l.PushBack(elem)
		return
	}
	c, at := l.chunkAt(i)
	if c.len() == maxChunk {
		rest := c.split()
		l.link(rest, c.next)
		l.accountArray(rest)
		if at > c.len() {
			c, at = rest, at-c.len()
		}
	}
	c.insert(at, string(elem))
	l.accountAdded(c, c.elems()[at])
}

// Trim removes all elements except [from, to), 0 <= from and to <= Len. If from >= to, it removes all.
func (l *List) Trim(from, to int) {
	if from >= to {
		*l = List{}
		return
	}
	after := l.length - to
	for from >= l.head.len() {
		from -= l.head.len()
		l.accountRemoved(l.head.elems()...)
		l.unlink(l.head)
	}
	for after >= l.tail.len() {
		after -= l.tail.len()
		l.accountRemoved(l.tail.elems()...)
		l.unlink(l.tail)
	}
	l.accountRemoved(l.head.elems()[:from]...)
	l.head.dropFront(from)
	l.accountRemoved(l.tail.elems()[l.tail.len()-after:]...)
	l.tail.dropBack(after)
	l.merge(l.head, l.head)
	l.merge(l.tail, l.tail)
}

// Remove removes up to limit elements (all if it is 0) that equal elem, the first ones or, if fromBack, the
// last ones, and returns their number.
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
		l.merge(start, end)
	}
	return removed
}

// Ascend calls fn for the elements from index i on, in order, until fn returns false. fn must not change the
// list.
func (l *List) Ascend(i int, fn func(elem string) bool) {
	if i >= l.length {
		return
	}
	for c, at := l.chunkAt(i); c != nil; c, at = c.next, 0 {
		for _, e := range c.elems()[at:] {
			if !fn(e) {
				return
			}
		}
	}
}

// Descend is Ascend in reverse order, from index i down to 0.
func (l *List) Descend(i int, fn func(elem string) bool) {
	if i < 0 {
		return
	}
	for c, at := l.chunkAt(i); c != nil; {
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

// chunkAt returns the chunk of index i, 0 <= i < Len, and the index in it. It walks from the nearer end.
func (l *List) chunkAt(i int) (c *chunk, at int) {
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

// link inserts c into the chain before next, or at the end if next is nil.
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
	l.bytes -= chunkBytes + arrayBytes(int(c.accounted))
	c.accounted = 0
}

// merge restores the invariant for the chunks from first to last, which may have become empty or small, and
// their neighbours.
func (l *List) merge(first, last *chunk) {
	c := first
	if c.prev != nil {
		c = c.prev
	}
	for {
		switch n := c.next; {
		case n != nil && c.len()+n.len() <= mergeMax:
			c.absorb(n)
			l.accountArray(c)
			if n == last {
				last = c
			}
			l.unlink(n)
			continue // the next one may be small too
		case c == last || n == nil:
			if c.len() == 0 {
				l.unlink(c)
			} else {
				c.shrink()
				l.accountArray(c)
			}
			return
		case c.len() == 0:
			// n is too large to merge.
			l.unlink(c)
			c = n
		default:
			c.shrink()
			l.accountArray(c)
			c = n
		}
	}
}

// Clone returns a deep copy.
func (l *List) Clone() *List {
	out := &List{}
	l.Ascend(0, func(elem string) bool {
		out.pushBack(elem)
		return true
	})
	return out
}
