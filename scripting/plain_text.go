package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// The strings of a run are in an arena that the frame keeps and empties after
// the run. Strings that do not fit are left to the garbage collector, so that a
// loop that builds strings does not keep them all alive.
const (
	arenaSize    = 16 << 10
	maxArenaText = 2 << 10
)

// alloc returns an empty slice with capacity n.
func (f *plainFrame) alloc(n int) []byte {
	if f.grow(n); f.failed {
		return nil // the run is over, so the content does not matter
	}
	used := len(f.arena)
	if n > maxArenaText || cap(f.arena)-used < n {
		return make([]byte, 0, n)
	}
	f.arena = f.arena[:used+n]
	return f.arena[used : used : used+n]
}

func (f *plainFrame) copyString(s string) plainValue {
	return plainBytes(append(f.alloc(len(s)), s...))
}

// copyBytes returns a copy of b without spare capacity: a script may keep
// millions of them.
func (f *plainFrame) copyBytes(b []byte) plainValue {
	return plainBytes(append(f.alloc(len(b)), b...))
}

const maxNumberText = 32

// numberText returns a number's text as tostring does.
func (f *plainFrame) numberText(n float64) plainValue {
	if i := int(n); 0 <= i && i < len(smallDecimals) && float64(i) == n && (i != 0 || !math.Signbit(n)) {
		return plainString(string(smallDecimals[i].(lua.LString)))
	}
	var space [maxNumberText]byte
	return f.copyBytes(appendNumber(space[:0], n))
}

// asText converts a string or a number as Lua's string functions do.
func (f *plainFrame) asText(v *plainValue) (string, bool) {
	switch v.kind {
	case lua.LTString:
		return v.text(), true
	case lua.LTNumber:
		n := f.numberText(v.number())
		return n.text(), true
	}
	return "", false
}

// concat is the operator `..`. It joins from the right and returns the index of
// the operand that cannot be joined, or -1.
func (f *plainFrame) concat(operands []int32) (v plainValue, fault int) {
	size, numbers := 0, 0
	for i, o := range operands {
		switch w := &f.values[o]; w.kind {
		case lua.LTString:
			size += int(w.bits)
		case lua.LTNumber:
			numbers++
		default:
			return plainNil, f.concatFault(operands, i)
		}
	}
	// The length of a number's text is not known in advance, so small results
	// are built in concatBuf.
	side := numbers > 0 && size <= maxArenaText
	b := f.concatBuf[:0]
	if !side {
		if b = f.alloc(size + numbers*maxNumberText); f.failed {
			return plainNil, -1
		}
	}
	for _, o := range operands {
		switch w := &f.values[o]; w.kind {
		case lua.LTString:
			b = append(b, w.text()...)
		case lua.LTNumber:
			b = appendNumber(b, w.number())
		}
	}
	if side {
		f.concatBuf = b
		return f.copyBytes(b), -1
	}
	return plainBytes(b), -1
}

// concatFault returns the operand that Lua names in its error: Lua joins two
// operands at a time from the right, and checks the left one first.
func (f *plainFrame) concatFault(operands []int32, first int) int {
	joins := func(i int) bool {
		kind := f.values[operands[i]].kind
		return kind == lua.LTString || kind == lua.LTNumber
	}
	last := len(operands) - 1
	if !joins(last) && joins(last-1) {
		return last
	}
	for i := last - 1; i >= 0; i-- {
		if !joins(i) {
			return i
		}
	}
	return first
}
