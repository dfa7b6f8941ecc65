package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// A plainTable is a table without metatable. Positive integer keys are in an
// array, up to a limit, and other keys in order of insertion, so that #, next
// and replies are as with gopher-lua's tables, holes included.
type plainTable struct {
	array       []plainValue
	entries     []plainEntry // the value of a removed key is nil
	index       map[plainHash]int
	measurement uint32 // the last measurement that has counted it; see plainFrame.reachableBytes
}

type plainEntry struct{ key, value plainValue }

// A plainHash is a hashable key.
type plainHash struct {
	kind lua.LValueType
	bits uint64
	text string
}

// maxScannedEntries is the number of entries up to which lookups scan.
const maxScannedEntries = 12

// arrayIndex returns the index of a key in the array, or -1.
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

func (t *plainTable) entryIndex(key *plainValue) int {
	if t.index != nil {
		if i, ok := t.index[hashKey(key)]; ok {
			return i
		}
		return -1
	}
	for i := range t.entries {
		if t.entries[i].key.equals(key) {
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
	if i := t.entryIndex(key); i >= 0 {
		return t.entries[i].value
	}
	return plainNil
}

func (t *plainTable) field(name string) plainValue {
	key := plainString(name)
	return t.get(&key)
}

func (t *plainTable) at(n int) plainValue {
	if 1 <= n && n <= len(t.array) {
		return t.array[n-1]
	}
	return plainNil
}

// set stores a value. The key must not be nil or NaN.
func (t *plainTable) set(key, value plainValue) {
	if i := arrayIndex(&key); i >= 0 {
		t.put(i+1, value)
		return
	}
	i := t.entryIndex(&key)
	switch {
	case i >= 0:
		t.entries[i].value = value
	case value.kind != lua.LTNil:
		t.entries = append(t.entries, plainEntry{key, value})
		switch n := len(t.entries); {
		case t.index != nil:
			t.index[hashKey(&key)] = n - 1
		case n > maxScannedEntries:
			t.index = make(map[plainHash]int, 2*n)
			for j := range t.entries {
				t.index[hashKey(&t.entries[j].key)] = j
			}
		}
	}
}

// put stores the nth element of the array, and fills a gap before it with nil.
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

// plainCapacity returns the new capacity if n elements are needed: a quarter
// more than before, and not too few.
func plainCapacity(before, n int) int {
	return max(n, before+before/4, 2*min(before, 4*maxPooledTableLen))
}

func (t *plainTable) growArray(n int) {
	grown := make([]plainValue, len(t.array), n)
	copy(grown, t.array)
	t.array = grown
}

func (t *plainTable) growEntries(n int) {
	grown := make([]plainEntry, len(t.entries), n)
	copy(grown, t.entries)
	t.entries = grown
}

// length returns a border of the array: the last one, like gopher-lua.
func (t *plainTable) length() int {
	for n := len(t.array); n > 0; n-- {
		if t.array[n-1].kind != lua.LTNil {
			return n
		}
	}
	return 0
}

// next returns the entry after a key in the order of Lua's next: first the
// array, then the other keys in order of insertion. The key is nil at the end.
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
		i = t.entryIndex(key) + 1
	}
	for ; i < len(t.entries); i++ {
		if t.entries[i].value.kind != lua.LTNil {
			return t.entries[i].key, t.entries[i].value
		}
	}
	return plainNil, plainNil
}

// reset empties a table for the next run, or drops its memory if that is large.
func (t *plainTable) reset() {
	if cap(t.array) > maxPooledTableLen || cap(t.entries) > maxPooledTableLen {
		*t = plainTable{measurement: t.measurement}
		return
	}
	clear(t.array)
	clear(t.entries)
	t.array, t.entries, t.index = t.array[:0], t.entries[:0], nil
}
