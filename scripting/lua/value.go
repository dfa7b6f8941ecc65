package lua

import (
	"math"
	"unsafe"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// A Kind is the type of a Value.
type Kind uint8

// The kinds, in the order of their numbers in Lua 5.1.
const (
	KindNil Kind = iota
	KindBool
	KindNumber
	KindString
	KindTable
	KindFunction
	KindUserdata
	KindThread
)

var kindNames = [...]string{"nil", "boolean", "number", "string", "table", "function", "userdata", "thread"}

// String returns the name that type() gives.
func (k Kind) String() string { return kindNames[k] }

// A Value is a Lua value of three words, without allocation of its own. A
// number is in bits; a boolean is there as 0 or 1. A string has its length in
// bits and its bytes at ref. Other kinds are at ref. The zero Value is nil.
//
// ref is nil unless the kind needs it, so that a Value keeps alive only what it
// shows. hash is that of a string or 0 if it is not known yet.
type Value struct {
	ref  unsafe.Pointer
	bits uint64
	hash uint32
	kind Kind
}

// Nil, True and False are the values of these names.
var (
	Nil   = Value{}
	True  = Value{kind: KindBool, bits: 1}
	False = Value{kind: KindBool}
)

// Number returns f as a value.
func Number(f float64) Value { return Value{bits: math.Float64bits(f), kind: KindNumber} }

// Bool returns b as a value.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// String returns s as a value. It does not copy: see Thread.NewString for text
// that the machine is to account for.
func String(s string) Value {
	return Value{ref: unsafe.Pointer(unsafe.StringData(s)), bits: uint64(len(s)), kind: KindString}
}

// Bytes returns a string value that aliases b, which must not change as long as
// the value is used.
func Bytes(b []byte) Value {
	return Value{ref: unsafe.Pointer(unsafe.SliceData(b)), bits: uint64(len(b)), kind: KindString}
}

// TableValue returns t as a value.
func TableValue(t *Table) Value { return Value{ref: unsafe.Pointer(t), kind: KindTable} }

// FunctionValue returns f as a value.
func FunctionValue(f *Function) Value { return Value{ref: unsafe.Pointer(f), kind: KindFunction} }

// ThreadValue returns th as a value.
func ThreadValue(th *Thread) Value { return Value{ref: unsafe.Pointer(th), kind: KindThread} }

// A Userdata is an object of the host. Scripts can pass it on and compare it.
type Userdata struct {
	Data      any
	Metatable *Table
}

// UserdataValue returns u as a value.
func UserdataValue(u *Userdata) Value { return Value{ref: unsafe.Pointer(u), kind: KindUserdata} }

// Kind returns the kind of v.
func (v *Value) Kind() Kind { return v.kind }

// IsNil reports whether v is nil.
func (v *Value) IsNil() bool { return v.kind == KindNil }

// IsNumber reports whether v is a number.
func (v *Value) IsNumber() bool { return v.kind == KindNumber }

// IsString reports whether v is a string.
func (v *Value) IsString() bool { return v.kind == KindString }

// IsTable reports whether v is a table.
func (v *Value) IsTable() bool { return v.kind == KindTable }

// IsFunction reports whether v is a function.
func (v *Value) IsFunction() bool { return v.kind == KindFunction }

// Truthy reports whether v counts as true: all but nil and false do.
func (v *Value) Truthy() bool {
	return v.kind > KindBool || v.kind == KindBool && v.bits != 0
}

// Num returns the number that v must be.
func (v *Value) Num() float64 { return math.Float64frombits(v.bits) }

// Str returns the string that v must be.
func (v *Value) Str() string { return unsafe.String((*byte)(v.ref), int(v.bits)) }

// Bytes is Str without a copy. The bytes must not be changed.
func (v *Value) Bytes() []byte { return unsafe.Slice((*byte)(v.ref), int(v.bits)) }

// Table returns the table that v must be.
func (v *Value) Table() *Table { return (*Table)(v.ref) }

// Function returns the function that v must be.
func (v *Value) Function() *Function { return (*Function)(v.ref) }

// Thread returns the coroutine that v must be.
func (v *Value) Thread() *Thread { return (*Thread)(v.ref) }

// Userdata returns the userdata that v must be.
func (v *Value) Userdata() *Userdata { return (*Userdata)(v.ref) }

// Pointer returns the address that identifies a table, function, thread or
// userdata; tostring shows it.
func (v *Value) Pointer() unsafe.Pointer { return v.ref }

// AsNumber converts a number, or a string that spells one, as arithmetic does.
func (v *Value) AsNumber() (float64, bool) {
	switch v.kind {
	case KindNumber:
		return v.Num(), true
	case KindString:
		return syntax.ParseNumber(v.Str())
	}
	return 0, false
}

// TypeName returns what type() returns for v.
func (v *Value) TypeName() string { return kindNames[v.kind] }

// setNumber stores a number. It writes ref only if v may have one, which keeps
// pointer writes out of arithmetic.
func (v *Value) setNumber(f float64) {
	if v.kind != KindNumber {
		v.ref, v.kind = nil, KindNumber
	}
	v.bits = math.Float64bits(f)
}

// Equals is rawequal.
func (v *Value) Equals(w *Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindNil:
		return true
	case KindBool:
		return v.bits == w.bits
	case KindNumber:
		return v.Num() == w.Num()
	case KindString:
		return v.bits == w.bits && (v.ref == w.ref || v.Str() == w.Str())
	}
	return v.ref == w.ref
}
