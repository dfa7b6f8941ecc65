package scripting

import (
	"math"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// A plainValue is a Lua value without allocation of its own: a number is in
// bits, a string has its length in bits and its bytes at ref, and a table is at
// ref. Functions are not values here; see plain_flow.go.
//
// A string aliases its source: the command's arguments, the script's constants,
// or the run's arena (plain_text.go). None of them changes before the run ends.
type plainValue struct {
	ref  unsafe.Pointer
	bits uint64
	kind lua.LValueType
}

var plainNil = plainValue{kind: lua.LTNil}

func plainNumber(f float64) plainValue {
	return plainValue{bits: math.Float64bits(f), kind: lua.LTNumber}
}

func plainString(s string) plainValue {
	return plainValue{unsafe.Pointer(unsafe.StringData(s)), uint64(len(s)), lua.LTString}
}

func plainBytes(b []byte) plainValue {
	return plainValue{unsafe.Pointer(unsafe.SliceData(b)), uint64(len(b)), lua.LTString}
}

func plainBool(b bool) plainValue {
	if b {
		return plainValue{bits: 1, kind: lua.LTBool}
	}
	return plainValue{kind: lua.LTBool}
}

func plainTableValue(t *plainTable) plainValue {
	return plainValue{ref: unsafe.Pointer(t), kind: lua.LTTable}
}

// The accessors require a value of that kind.
func (v *plainValue) number() float64    { return math.Float64frombits(v.bits) }
func (v *plainValue) text() string       { return unsafe.String((*byte)(v.ref), int(v.bits)) }
func (v *plainValue) bytes() []byte      { return unsafe.Slice((*byte)(v.ref), int(v.bits)) }
func (v *plainValue) table() *plainTable { return (*plainTable)(v.ref) }

// truthy reports whether a value counts as true: all but nil and false do.
func (v *plainValue) truthy() bool {
	return v.kind > lua.LTBool || v.kind == lua.LTBool && v.bits != 0
}

func (v *plainValue) setNumber(f float64) {
	v.bits, v.kind = math.Float64bits(f), lua.LTNumber // ref is ignored
}

func (v *plainValue) asNumber() (float64, bool) {
	switch v.kind {
	case lua.LTNumber:
		return v.number(), true
	case lua.LTString:
		return parseNumber(v.text())
	}
	return 0, false
}

func (v *plainValue) typeName() string { return v.kind.String() }

// equals is Lua's ==. A table equals only itself.
func (v *plainValue) equals(w *plainValue) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case lua.LTNil:
		return true
	case lua.LTNumber:
		return v.number() == w.number()
	case lua.LTString:
		return v.text() == w.text()
	case lua.LTTable:
		return v.ref == w.ref
	}
	return v.bits == w.bits
}

func fromConstant(v lua.LValue) (plainValue, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return plainNumber(float64(v)), true
	case lua.LString:
		return plainString(string(v)), true
	}
	return plainNil, false
}
