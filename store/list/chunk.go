package list

import "slices"

const (
	// maxChunk is the most elements of a chunk: 2 KiB of string headers, few to move for an insertion, many
	// to skip for an index.
	maxChunk = 128
	// mergeMax is the most elements of two neighbours that are merged. It is half a chunk, so that a merged
	// chunk does not split again at the next insertion.
	mergeMax = maxChunk / 2
	// minChunk is the capacity of a new chunk: most lists are short.
	minChunk = 4
)

// A chunk is a window, [lo, hi), in an array. Elements outside the window are empty, so that they keep no
// memory alive.
type chunk struct {
	prev, next *chunk
	array      []string
	lo, hi     uint16
	accounted  uint16 // length of array as accounted in the list's bytes
	shared     bool   // a frozen list has the same array: unshare before changing it
}

func (c *chunk) len() int { return int(c.hi - c.lo) }

func (c *chunk) elems() []string { return c.array[c.lo:c.hi] }

// pushBack appends an element; the chunk must not be full.
func (c *chunk) pushBack(elem string) {
	c.unshare()
	if int(c.hi) == len(c.array) {
		c.makeSpace(false)
	}
	c.array[c.hi] = elem
	c.hi++
}

// pushFront prepends an element; the chunk must not be full.
func (c *chunk) pushFront(elem string) {
	c.unshare()
	if c.lo == 0 {
		c.makeSpace(true)
	}
	c.lo--
	c.array[c.lo] = elem
}

func (c *chunk) popBack() string {
	c.unshare()
	c.hi--
	elem := c.array[c.hi]
	c.array[c.hi] = ""
	return elem
}

func (c *chunk) popFront() string {
	c.unshare()
	elem := c.array[c.lo]
	c.array[c.lo] = ""
	c.lo++
	return elem
}

// makeSpace frees space before or after the window. It grows the array unless half of it is free already, so
// that a queue that is pushed at one end and popped at the other costs O(1) a push.
func (c *chunk) makeSpace(front bool) {
	size := max(len(c.array), minChunk)
	if c.len() > size/2 {
		size = min(2*size, maxChunk)
	}
	c.move(size, front)
}

// move moves the window to an array of the given size, to its end or start.
func (c *chunk) move(size int, atEnd bool) {
	c.unshare()
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

// insert inserts an element at index at; the chunk must not be full.
func (c *chunk) insert(at int, elem string) {
	c.unshare()
	if int(c.hi) == len(c.array) {
		c.makeSpace(false)
	}
	c.hi++
	elems := c.elems()
	copy(elems[at+1:], elems[at:])
	elems[at] = elem
}

// split moves the second half of a full chunk to a new one.
func (c *chunk) split() *chunk {
	half := c.len() / 2
	rest := &chunk{array: slices.Clone(c.elems()[half:])}
	rest.hi = uint16(len(rest.array))
	c.dropBack(len(rest.array))
	return rest
}

// absorb moves the elements of o to the end of c.
func (c *chunk) absorb(o *chunk) {
	n := c.len() + o.len()
	array := make([]string, arraySize(n))
	copy(array[copy(array, c.elems()):], o.elems())
	c.array, c.lo, c.hi, c.shared = array, 0, uint16(n), false
	o.array, o.lo, o.hi, o.shared = nil, 0, 0, false
}

func (c *chunk) dropFront(n int) {
	c.unshare()
	clear(c.elems()[:n])
	c.lo += uint16(n)
}

func (c *chunk) dropBack(n int) {
	c.unshare()
	clear(c.elems()[c.len()-n:])
	c.hi -= uint16(n)
}

// remove removes up to limit elements that equal elem and returns their number.
func (c *chunk) remove(elem []byte, limit int, fromBack bool) (removed int) {
	c.unshare()
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

// shrink shrinks the array if most of it is empty.
func (c *chunk) shrink() {
	if size := arraySize(c.len()); 4*size <= len(c.array) {
		c.move(size, false)
	}
}

// arraySize returns the array size for n elements: the next power of two.
func arraySize(n int) int {
	size := minChunk
	for size < n {
		size *= 2
	}
	return size
}
