package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// The text of a run is what it makes of strings: one piece of memory that the
// frame keeps, given out from the front and free again when the run ends.
// What does not fit is the garbage collector's, so that a loop that builds
// strings does not hold on to all of them.
const (
	textSpace   = 16 << 10
	longestText = 2 << 10
)

// room returns an empty slice with room for n bytes.
func (f *plainFrame) room(n int) []byte {
	if f.built(n); f.failed {
		return nil // whatever is put into it, the run is over
	}
	used := len(f.text)
	if n > longestText || cap(f.text)-used < n {
		return make([]byte, 0, n)
	}
	f.text = f.text[:used+n]
	return f.text[used : used : used+n]
}

// copied returns a string of the run's own.
func (f *plainFrame) copied(s string) plainValue {
	return plainBytes(append(f.room(len(s)), s...))
}

// fitted returns a copy of what was built on the side, which is no longer than
// need be: a script may keep millions of them.
func (f *plainFrame) fitted(b []byte) plainValue {
	return plainBytes(append(f.room(len(b)), b...))
}

const longestNumber = 32

// spelled returns a number as tostring does.
func (f *plainFrame) spelled(n float64) plainValue {
	if i := int(n); 0 <= i && i < len(smallDecimals) && float64(i) == n && (i != 0 || !math.Signbit(n)) {
		return plainString(string(smallDecimals[i].(lua.LString)))
	}
	var space [longestNumber]byte
	return f.fitted(appendNumber(space[:0], n))
}

// asText converts as Lua's string functions do: strings and numbers.
func (f *plainFrame) asText(v *plainValue) (string, bool) {
	switch v.kind {
	case lua.LTString:
		return v.text(), true
	case lua.LTNumber:
		n := f.spelled(v.number())
		return n.text(), true
	}
	return "", false
}

// concat is the operator `..`, from the right. It reports the place of the
// operand that is at fault, -1 where none is.
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
	// A number's length shows when it is spelled: small texts are built on the side.
	side := numbers > 0 && size <= longestText
	b := f.joined[:0]
	if !side {
		if b = f.room(size + numbers*longestNumber); f.failed {
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
		f.joined = b
		return f.fitted(b), -1
	}
	return plainBytes(b), -1
}

// concatFault finds whom Lua blames: it joins pairs from the right, and looks
// at the left one first.
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
