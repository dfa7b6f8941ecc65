package lua

import "math/bits"

const (
	maxBits   = 26 // of the size of one part of a table
	valueSize = 24
	nodeSize  = 56
	tableSize = 96
)

// Set is rawset, for tables of the host. The key must be neither nil nor NaN.
// For a table that a script can make grow, see Thread.RawSet.
func (t *Table) Set(key, value Value) { *t.slot(nil, &key) = value }

// SetInt is Set with an integer.
func (t *Table) SetInt(n int, value Value) { t.Set(Number(float64(n)), value) }

// SetString is Set with a string.
func (t *Table) SetString(name string, value Value) { t.Set(String(name), value) }

// slot returns where to store the value of a key, and makes room for it. L is
// charged; it is nil for a table of the host.
func (t *Table) slot(L *Thread, key *Value) *Value {
	t.absent = 0
	if v := t.find(key); v != nil {
		return v
	}
	return t.insert(L, key)
}

// insert adds a key that the table does not have.
func (t *Table) insert(L *Thread, key *Value) *Value {
	if len(t.nodes) == 0 {
		return t.grow(L, key)
	}
	at := t.mainPosition(key)
	if t.nodes[at].value.kind != KindNil {
		free := t.freePosition()
		if free < 0 {
			return t.grow(L, key)
		}
		other := t.mainPosition(&t.nodes[at].key)
		if other != at { // the entry there is not at home: it moves
			for int(t.nodes[other].next)-1 != at {
				other = int(t.nodes[other].next) - 1
			}
			t.nodes[other].next = int32(free) + 1
			t.nodes[free] = t.nodes[at]
			t.nodes[at].next = 0
			t.nodes[at].value = Nil
		} else {
			t.nodes[free].next = t.nodes[at].next
			t.nodes[at].next = int32(free) + 1
			at = free
		}
	}
	n := &t.nodes[at]
	n.key = *key
	return &n.value
}

func (t *Table) freePosition() int {
	for t.lastFree > 0 {
		t.lastFree--
		if t.nodes[t.lastFree].key.kind == KindNil {
			return t.lastFree
		}
	}
	return -1
}

// grow sizes both parts for what the table holds and one key more.
func (t *Table) grow(L *Thread, key *Value) *Value {
	if n := len(t.array) + 1; len(t.nodes) == 0 && arrayIndex(key) == n && t.isFull() {
		t.resize(L, 1<<ceilLog2(n), 0)
		return &t.array[n-1]
	}
	var counts [maxBits + 1]int // counts[i]: integer keys in (2^(i-1), 2^i]
	inArray := t.countArray(&counts)
	total := inArray
	for i := range t.nodes {
		if n := &t.nodes[i]; n.value.kind != KindNil {
			inArray += countKey(&n.key, &counts)
			total++
		}
	}
	inArray += countKey(key, &counts)
	total++
	size, used := arraySize(&counts, inArray)
	t.resize(L, size, total-used)
	return t.slot(L, key)
}

// isFull reports whether no element of the array is nil.
func (t *Table) isFull() bool {
	for i := range t.array {
		if t.array[i].kind == KindNil {
			return false
		}
	}
	return true
}

// countKey counts an integer key and returns 1, or else 0.
func countKey(key *Value, counts *[maxBits + 1]int) int {
	if n := arrayIndex(key); n > 0 && n <= 1<<maxBits {
		counts[ceilLog2(n)]++
		return 1
	}
	return 0
}

func ceilLog2(n int) int { return bits.Len(uint(n - 1)) }

func (t *Table) countArray(counts *[maxBits + 1]int) (total int) {
	i := 0
	for log, end := 0, 1; i < len(t.array); log, end = log+1, 2*end {
		n := 0
		for ; i < min(end, len(t.array)); i++ {
			if t.array[i].kind != KindNil {
				n++
			}
		}
		counts[log] += n
		total += n
	}
	return total
}

// arraySize returns the largest power of two of which more than half would be
// used, and how many integer keys it holds.
func arraySize(counts *[maxBits + 1]int, keys int) (size, used int) {
	sum := 0
	for log, end := 0, 1; end/2 < keys && log <= maxBits; log, end = log+1, 2*end {
		if counts[log] > 0 {
			if sum += counts[log]; sum > end/2 {
				size, used = end, sum
			}
		}
		if sum == keys {
			break
		}
	}
	return size, used
}

// makeNodes gives an empty hash room for n entries.
func (t *Table) makeNodes(n int) {
	if n == 0 {
		t.nodes, t.lastFree = t.nodes[:0:0], 0
		return
	}
	size := 1 << ceilLog2(n)
	if len(t.nodes) == 0 && cap(t.nodes) >= size {
		t.nodes = t.nodes[:size] // of a table that was used before
	} else {
		t.nodes = make([]node, size)
	}
	t.lastFree = size
}

// resize gives the array that size and the hash room for that many fields, and
// moves what no longer belongs where it is.
func (t *Table) resize(L *Thread, elements, fields int) {
	after := elements * valueSize
	if fields > 0 {
		if ceilLog2(fields) > maxBits {
			L.Error("table overflow")
		}
		after += nodeSize << ceilLog2(fields)
	}
	if L != nil {
		L.Grow(after)
	}
	old, oldNodes := t.array, t.nodes
	switch {
	case elements > cap(old):
		t.array = make([]Value, elements)
		copy(t.array, old)
	case elements > len(old):
		t.array = old[:elements]
	}
	t.makeNodes(fields)
	if elements < len(old) {
		t.array = append(make([]Value, 0, elements), old[:elements]...)
		for i := elements; i < len(old); i++ {
			if old[i].kind != KindNil {
				key := Number(float64(i + 1))
				*t.slot(L, &key) = old[i]
			}
		}
	}
	for i := len(oldNodes) - 1; i >= 0; i-- {
		if n := &oldNodes[i]; n.value.kind != KindNil {
			*t.slot(L, &n.key) = n.value
		}
	}
}

// clear empties a table for another use. It keeps memory, unless there is much.
func (t *Table) clear() {
	const keep = 64
	array, nodes := t.array, t.nodes
	if cap(array) > keep {
		array = nil
	}
	if cap(nodes) > keep {
		nodes = nil
	}
	clear(array)
	clear(nodes)
	*t = Table{array: array[:0], nodes: nodes[:0], mark: t.mark}
}

// reserveArray makes room for n elements, without counting what is used.
func (t *Table) reserveArray(L *Thread, n int) {
	if n > len(t.array) {
		fields := len(t.nodes)
		t.resize(L, n, fields)
	}
}
