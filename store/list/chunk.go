package list

import "slices"

const (
	// maxChunk is how many elements a chunk holds at most: 2 KiB of string
	// headers, little to move for an insertion, much to step over for an index.
	maxChunk = 128
	// joined is how many elements two neighbours may have together before they
	// are made one. Half a chunk: what was just joined does not split again at
	// the next insertion.
	joined = maxChunk / 2
	// minChunk is the room of a new chunk: most lists are short.
	minChunk = 4
)

// A chunk is a window, [lo, hi), of elements in an array whose other places are
// empty strings, so that they keep nothing alive.
type chunk struct {
	prev, next *chunk
	array      []string
	lo, hi     uint16
	counted    uint16 // the length of the array that is in the list's bytes
	shared     bool   // a frozen list has the same array, which may not change any more
}

func (c *chunk) len() int { return int(c.hi - c.lo) }

func (c *chunk) elems() []string { return c.array[c.lo:c.hi] }

// pushBack adds an element; the chunk is not full.
func (c *chunk) pushBack(elem string) {
	c.own()
	if int(c.hi) == len(c.array) {
		c.makeRoom(false)
	}
	c.array[c.hi] = elem
	c.hi++
}

// pushFront is pushBack at the other end.
func (c *chunk) pushFront(elem string) {
	c.own()
	if c.lo == 0 {
		c.makeRoom(true)
	}
	c.lo--
	c.array[c.lo] = elem
}

func (c *chunk) popBack() string {
	c.own()
	c.hi--
	elem := c.array[c.hi]
	c.array[c.hi] = ""
	return elem
}

func (c *chunk) popFront() string {
	c.own()
	elem := c.array[c.lo]
	c.array[c.lo] = ""
	c.lo++
	return elem
}

// makeRoom makes places free before the window or behind it. It grows the array
// unless half of it is free already, so that a queue that is pushed at one end
// and popped at the other costs O(1) a push.
func (c *chunk) makeRoom(front bool) {
	size := max(len(c.array), minChunk)
	if c.len() > size/2 {
		size = min(2*size, maxChunk)
	}
	c.move(size, front)
}

// move places the window in an array of the given size, at its end or start.
func (c *chunk) move(size int, atEnd bool) {
	c.own()
	lo, n := 0, c.len()
	if atEnd {
		lo = size - n
	}
	array := c.array
	if size != len(array) {
		array = make([]string, size)
	}
	copy(array[lo:], c.elems())
	if size == len(c.array) {
		clear(array[:lo])
		clear(array[lo+n:])
	}
	c.array, c.lo, c.hi = array, uint16(lo), uint16(lo+n)
}

// insert puts an element at place at; the chunk is not full.
func (c *chunk) insert(at int, elem string) {
	c.own()
	if int(c.hi) == len(c.array) {
		c.makeRoom(false)
	}
	c.hi++
	elems := c.elems()
	copy(elems[at+1:], elems[at:])
	elems[at] = elem
}

// split moves the second half of a full chunk into a new one.
func (c *chunk) split() *chunk {
	half := c.len() / 2
	rest := &chunk{array: slices.Clone(c.elems()[half:])}
	rest.hi = uint16(len(rest.array))
	c.dropBack(len(rest.array))
	return rest
}

// take adds the elements of another chunk behind its own.
func (c *chunk) take(o *chunk) {
	n := c.len() + o.len()
	array := make([]string, roomFor(n))
	copy(array[copy(array, c.elems()):], o.elems())
	c.array, c.lo, c.hi, c.shared = array, 0, uint16(n), false
	o.array, o.lo, o.hi, o.shared = nil, 0, 0, false
}

func (c *chunk) dropFront(n int) {
	c.own()
	clear(c.elems()[:n])
	c.lo += uint16(n)
}

func (c *chunk) dropBack(n int) {
	c.own()
	clear(c.elems()[c.len()-n:])
	c.hi -= uint16(n)
}

// remove removes up to limit elements that equal elem and returns how many.
func (c *chunk) remove(elem []byte, limit int, fromBack bool) (removed int) {
	c.own()
	elems := c.elems()
	if fromBack {
		to := len(elems)
		for i := len(elems) - 1; i >= 0; i-- {
			if removed < limit && elems[i] == string(elem) {
				removed++
				continue
			}
			to--
			elems[to] = elems[i]
		}
		c.dropFront(removed)
		return removed
	}
	to := 0
	for _, e := range elems {
		if removed < limit && e == string(elem) {
			removed++
			continue
		}
		elems[to] = e
		to++
	}
	c.dropBack(removed)
	return removed
}

// shrink gives memory back where most of the array is empty.
func (c *chunk) shrink() {
	if size := roomFor(c.len()); 4*size <= len(c.array) {
		c.move(size, false)
	}
}

// roomFor is the array that n elements get: the next power of two.
func roomFor(n int) int {
	size := minChunk
	for size < n {
		size *= 2
	}
	return size
}
