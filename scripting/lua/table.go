package lua

import (
	"math"
	"unsafe"
)

// A Table is laid out as in C Lua 5.1, so that `#` finds the same border and
// next the same order: an array for the keys 1 to len(array), and a hash of
// chained entries for the others, in which a colliding entry takes a free place
// and an entry that is not at its main position makes way. See
// table_resize.go for how the two grow.
//
// Invariants: len(nodes) is 0 or a power of two; each key is reached by the
// chain that starts at its main position; an entry whose value is nil keeps its
// key, so that a traversal can go on from it.
type Table struct {
	array    []Value
	nodes    []node
	lastFree int // no place at or after this is free
	meta     *Table
	absent   uint32 // bit e: as a metatable, it has no field for event e
	mark     uint32 // the last measurement that has counted it
	readOnly bool
}

type node struct {
	value Value
	key   Value
	next  int32 // index of the chain's next entry plus one; 0 at its end
}

// NewTable returns a table with room for elements and fields. The caller
// accounts for it; see Thread.NewTable.
func NewTable(elements, fields int) *Table {
	t := &Table{}
	if elements > 0 {
		t.array = make([]Value, elements)
	}
	t.makeNodes(fields)
	return t
}

// Metatable returns the metatable, or nil.
func (t *Table) Metatable() *Table { return t.meta }

// SetMetatable replaces the metatable. nil removes it.
func (t *Table) SetMetatable(meta *Table) { t.meta = meta }

// SetReadOnly decides whether scripts may write to t. RawSet ignores it.
func (t *Table) SetReadOnly(on bool) { t.readOnly = on }

// ReadOnly reports whether writes by scripts are refused.
func (t *Table) ReadOnly() bool { return t.readOnly }

// stringHash is the hash of C Lua: it determines the order of pairs.
func stringHash(s string) uint32 {
	h := uint32(len(s))
	step := len(s)>>5 + 1
	for i := len(s); i >= step; i -= step {
		h ^= h<<5 + h>>2 + uint32(s[i-1])
	}
	return h
}

func (v *Value) stringHash() uint32 {
	if v.hash != 0 {
		return v.hash
	}
	h := stringHash(v.Str())
	if h != 0 { // else a write to a shared constant would be a race
		v.hash = h
	}
	return h
}

func numberHash(f float64) uint32 {
	if f == 0 {
		return 0
	}
	bits := math.Float64bits(f)
	return uint32(bits) + uint32(bits>>32)
}

// mainPosition returns the index at which the chain of a key starts. There must
// be nodes.
func (t *Table) mainPosition(key *Value) int {
	mask := uint32(len(t.nodes) - 1)
	switch key.kind {
	case KindString:
		return int(key.stringHash() & mask)
	case KindBool:
		return int(uint32(key.bits) & mask)
	case KindNumber:
		return int(numberHash(key.Num()) % (mask | 1))
	}
	return int(uint32(uintptr(key.ref)>>4) % (mask | 1))
}

// arrayIndex returns a key as an integer, or 0 if it is none.
func arrayIndex(key *Value) int {
	if key.kind == KindNumber {
		f := key.Num()
		if n := int(f); float64(n) == f && n > 0 {
			return n
		}
	}
	return 0
}

// find returns where the value of a key is, or nil.
func (t *Table) find(key *Value) *Value {
	switch key.kind {
	case KindString:
		return t.findString(key)
	case KindNumber:
		if n := arrayIndex(key); n > 0 {
			return t.findInt(n)
		}
	case KindNil:
		return nil
	}
	if len(t.nodes) == 0 {
		return nil
	}
	for i := t.mainPosition(key) + 1; i != 0; {
		n := &t.nodes[i-1]
		if n.key.Equals(key) {
			return &n.value
		}
		i = int(n.next)
	}
	return nil
}

func (t *Table) findString(key *Value) *Value {
	if len(t.nodes) == 0 {
		return nil
	}
	h := key.stringHash()
	n := &t.nodes[h&uint32(len(t.nodes)-1)]
	for {
		if n.key.kind == KindString && n.key.hash == h && n.key.bits == key.bits &&
			(n.key.ref == key.ref || n.key.Str() == key.Str()) {
			return &n.value
		}
		if n.next == 0 {
			return nil
		}
		n = &t.nodes[n.next-1]
	}
}

func (t *Table) findInt(n int) *Value {
	if n > 0 && n <= len(t.array) {
		return &t.array[n-1]
	}
	if len(t.nodes) == 0 {
		return nil
	}
	f := float64(n)
	i := int(numberHash(f) % (uint32(len(t.nodes)-1) | 1))
	for {
		e := &t.nodes[i]
		if e.key.kind == KindNumber && e.key.Num() == f {
			return &e.value
		}
		if e.next == 0 {
			return nil
		}
		i = int(e.next) - 1
	}
}

// SetList makes t the list of some strings, without metatable, which alias
// them.
func (t *Table) SetList(list [][]byte) {
	if len(t.nodes) > 0 || len(t.array) > len(list) || t.meta != nil || t.readOnly {
		t.clear()
	}
	if cap(t.array) < len(list) {
		t.array = make([]Value, len(list))
	}
	t.array = t.array[:len(list)]
	for i, b := range list {
		t.array[i] = Bytes(b)
	}
}

// Get is rawget.
func (t *Table) Get(key Value) Value {
	if v := t.find(&key); v != nil {
		return *v
	}
	return Nil
}

// GetInt is rawget with an integer.
func (t *Table) GetInt(n int) Value {
	if v := t.findInt(n); v != nil {
		return *v
	}
	return Nil
}

// GetString is rawget with a string.
func (t *Table) GetString(name string) Value { return t.Get(String(name)) }

// Len returns a border, the one that C Lua's # finds.
func (t *Table) Len() int {
	j := len(t.array)
	if j > 0 && t.array[j-1].kind == KindNil {
		i := 0
		for j-i > 1 {
			if m := (i + j) / 2; t.array[m-1].kind == KindNil {
				j = m
			} else {
				i = m
			}
		}
		return i
	}
	if len(t.nodes) == 0 {
		return j
	}
	return t.unboundedLen(j)
}

// unboundedLen searches for a border beyond the array.
func (t *Table) unboundedLen(i int) int {
	present := func(n int) bool {
		v := t.findInt(n)
		return v != nil && v.kind != KindNil
	}
	j := i + 1
	for present(j) {
		i = j
		if j *= 2; j > math.MaxInt32-2 {
			for i = 1; present(i); i++ {
			}
			return i - 1
		}
	}
	for j-i > 1 {
		if m := (i + j) / 2; present(m) {
			i = m
		} else {
			j = m
		}
	}
	return i
}

// Next returns the entry after a key, and whether the key is in the table or
// nil. At the end the next key is nil.
func (t *Table) Next(key Value) (k, v Value, ok bool) {
	i, ok := t.position(&key)
	if !ok {
		return Nil, Nil, false
	}
	for ; i < len(t.array); i++ {
		if t.array[i].kind != KindNil {
			return Number(float64(i + 1)), t.array[i], true
		}
	}
	for i -= len(t.array); i < len(t.nodes); i++ {
		if n := &t.nodes[i]; n.value.kind != KindNil {
			return n.key, n.value, true
		}
	}
	return Nil, Nil, true
}

// position returns the place after that of a key in the order of traversal.
func (t *Table) position(key *Value) (int, bool) {
	if key.kind == KindNil {
		return 0, true
	}
	if n := arrayIndex(key); n > 0 && n <= len(t.array) {
		return n, true
	}
	v := t.find(key)
	if v == nil {
		return 0, false
	}
	offset := uintptr(unsafe.Pointer(v)) - uintptr(unsafe.Pointer(unsafe.SliceData(t.nodes)))
	return len(t.array) + int(offset/unsafe.Sizeof(node{})) + 1, true
}

// HasFields reports whether there may be keys outside of the array.
func (t *Table) HasFields() bool { return len(t.nodes) > 0 }
