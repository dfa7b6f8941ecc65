package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// A plainTable is a table without metatable. It keeps positive integer keys in
// an array, as far as they go, and the others in the order in which they came:
// what #, next and the conversion to a reply see is what gopher-lua's tables
// show, holes included.
type plainTable struct {
	array []plainValue
	pairs []plainPair // a value of nil is a key that was removed
	index map[plainHash]int
	walk  uint32 // the last measurement that has met it, see plainFrame.held
}

type plainPair struct{ key, value plainValue }

// A plainHash is a key that Go can hash.
type plainHash struct {
	kind lua.LValueType
	bits uint64
	text string
}

// scannedPairs is how many pairs are searched one by one.
const scannedPairs = 12

// arrayIndex is the place of a key in the array, -1 where it has none.
func arrayIndex(key *plainValue) int {
	if key.kind != lua.LTNumber {
		return -1
	}
	f := key.number()
	if f < 1 || f >= float64(lua.MaxArrayIndex) || f != math.Trunc(f) || f != f {
		return -1
	}
	return int(f) - 1
}

func hashKey(key *plainValue) plainHash {
	switch key.kind {
	case lua.LTString:
		return plainHash{kind: key.kind, text: key.text()}
	case lua.LTNumber:
		return plainHash{kind: key.kind, bits: math.Float64bits(key.number() + 0)} // one zero
	case lua.LTTable:
		return plainHash{kind: key.kind, bits: uint64(uintptr(key.ref))}
	}
	return plainHash{kind: key.kind, bits: key.bits}
}

// find returns the place of a key among the pairs, -1 where it never was.
func (t *plainTable) find(key *plainValue) int {
	if t.index != nil {
		if i, ok := t.index[hashKey(key)]; ok {
			return i
		}
		return -1
	}
	for i := range t.pairs {
		if t.pairs[i].key.equals(key) {
			return i
		}
	}
	return -1
}

func (t *plainTable) get(key *plainValue) plainValue {
	if i := arrayIndex(key); i >= 0 {
		if i < len(t.array) {
			return t.array[i]
		}
		return plainNil
	}
	if i := t.find(key); i >= 0 {
		return t.pairs[i].value
	}
	return plainNil
}

// field is get with a name.
func (t *plainTable) field(name string) plainValue {
	key := plainString(name)
	return t.get(&key)
}

// at returns the nth element of the array.
func (t *plainTable) at(n int) plainValue {
	if 1 <= n && n <= len(t.array) {
		return t.array[n-1]
	}
	return plainNil
}

// set stores a value. The key is neither nil nor NaN.
func (t *plainTable) set(key, value plainValue) {
	if i := arrayIndex(&key); i >= 0 {
		t.put(i+1, value)
		return
	}
	i := t.find(&key)
	switch {
	case i >= 0:
		t.pairs[i].value = value
	case value.kind != lua.LTNil:
		t.pairs = append(t.pairs, plainPair{key, value})
		switch n := len(t.pairs); {
		case t.index != nil:
			t.index[hashKey(&key)] = n - 1
		case n > scannedPairs:
			t.index = make(map[plainHash]int, 2*n)
			for j := range t.pairs {
				t.index[hashKey(&t.pairs[j].key)] = j
			}
		}
	}
}

// put stores the nth element of the array; a gap before it is filled with nil.
func (t *plainTable) put(n int, value plainValue) {
	if n <= len(t.array) {
		t.array[n-1] = value
		return
	}
	for len(t.array) < n-1 {
		t.array = append(t.array, plainNil)
	}
	t.array = append(t.array, value)
}

// plainCapacity is how many elements are made room for where n are needed and
// there is room for fewer: a quarter more than before, and not a few.
func plainCapacity(before, n int) int {
	return max(n, before+before/4, 2*min(before, 4*keptTableAt))
}

// growArray makes room for n elements in the array.
func (t *plainTable) growArray(n int) {
	grown := make([]plainValue, len(t.array), n)
	copy(grown, t.array)
	t.array = grown
}

// growPairs makes room for n pairs.
func (t *plainTable) growPairs(n int) {
	grown := make([]plainPair, len(t.pairs), n)
	copy(grown, t.pairs)
	t.pairs = grown
}

// length is a border of the array: the last, as gopher-lua finds it.
func (t *plainTable) length() int {
	for n := len(t.array); n > 0; n-- {
		if t.array[n-1].kind != lua.LTNil {
			return n
		}
	}
	return 0
}

// next is the pair after a key, in the order of Lua's next: the array, then
// the other keys as they came. The key it returns is nil at the end.
func (t *plainTable) next(key *plainValue) (k, v plainValue) {
	i := arrayIndex(key)
	if i >= 0 || key.kind == lua.LTNil {
		for i++; i < len(t.array); i++ {
			if t.array[i].kind != lua.LTNil {
				return plainNumber(float64(i + 1)), t.array[i]
			}
		}
		i = 0
	} else {
		i = t.find(key) + 1
	}
	for ; i < len(t.pairs); i++ {
		if t.pairs[i].value.kind != lua.LTNil {
			return t.pairs[i].key, t.pairs[i].value
		}
	}
	return plainNil, plainNil
}

// reset empties a table for the next run, which gets no large one.
func (t *plainTable) reset() {
	if cap(t.array) > keptTableAt || cap(t.pairs) > keptTableAt {
		*t = plainTable{walk: t.walk}
		return
	}
	clear(t.array)
	clear(t.pairs)
	t.array, t.pairs, t.index = t.array[:0], t.pairs[:0], nil
}
