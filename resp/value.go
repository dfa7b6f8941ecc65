// Package resp holds the reply values that command handlers return and their encoding
// in RESP2 and RESP3. It knows no commands, sockets or store.
//
// A handler returns one Value. Its caller decides how to use it: the connection encodes
// it in the client's protocol, EXEC puts it into an array, a script converts it to a
// Lua value. RESP3 types that RESP2 lacks fall back as in Redis 7.0: maps and sets to
// arrays, doubles to bulk strings, booleans to 1 and 0.
//
// This package is internal to zlimit: it may change in any release.
package resp

import (
	"math"
	"unsafe"
)

// Kind is the type of a Value.
type Kind uint8

// Kinds of replies. KindNone is the zero Value, for which nothing is sent.
const (
	KindNone Kind = iota
	KindStatus
	KindError
	KindInteger
	KindBulk
	KindBulkInt   // a bulk string that is a decimal integer
	KindDouble    // RESP2: bulk string
	KindNull      // RESP2: null bulk string
	KindNullArray // RESP2: null array; RESP3 has one null for both
	KindArray
	KindMap // elements alternate key, value; RESP2: flat array
	KindSet // RESP2: array
	KindBool
	KindBigNumber
	KindVerbatim // text; RESP2: bulk string
	KindPush     // RESP2: array
	KindEncoded  // replies already encoded, sent as they are
	KindStream   // a reply generated while it is sent; see Streamed
)

// A Value is one reply: three words, copied freely. Strings and elements may alias the
// handler's scratch space, so a Value is valid until the session that produced it runs
// its next command.
type Value struct {
	kind Kind
	num  int64          // the number, or the length of ptr in bytes or elements
	ptr  unsafe.Pointer // the first byte of a text, the first element of an aggregate
}

func text(kind Kind, s string) Value {
	return Value{kind, int64(len(s)), unsafe.Pointer(unsafe.StringData(s))}
}

func aggregate(kind Kind, elems []Value) Value {
	return Value{kind, int64(len(elems)), unsafe.Pointer(unsafe.SliceData(elems))}
}

// Replies without content, named after Redis' shared objects.
var (
	None      = Value{}
	OK        = Status("OK")
	Queued    = Status("QUEUED")
	Pong      = Status("PONG")
	Null      = Value{kind: KindNull}
	NullArray = Value{kind: KindNullArray}
	Empty     = Value{kind: KindArray}
)

// Status returns a simple string; s must not contain CR or LF.
func Status(s string) Value { return text(KindStatus, s) }

// Error returns an error reply; s starts with its code word ("ERR ...").
func Error(s string) Value { return text(KindError, s) }

// Int returns an integer reply.
func Int(n int64) Value { return Value{kind: KindInteger, num: n} }

// Bulk returns a bulk string.
func Bulk(s string) Value { return text(KindBulk, s) }

// BulkBytes returns a bulk string that aliases b; b must not change until the
// Value has been encoded.
func BulkBytes(b []byte) Value {
	return Value{KindBulk, int64(len(b)), unsafe.Pointer(unsafe.SliceData(b))}
}

// BulkInt returns the bulk string that spells n in decimal.
func BulkInt(n int64) Value { return Value{kind: KindBulkInt, num: n} }

// Double returns a double; f must not be NaN.
func Double(f float64) Value { return Value{kind: KindDouble, num: int64(math.Float64bits(f))} }

// Bool returns a RESP3 boolean, 1 or 0 in RESP2.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

// BigNumber returns a number of any size, spelled in decimal.
func BigNumber(s string) Value { return text(KindBigNumber, s) }

// Verbatim returns text of format "txt".
func Verbatim(s string) Value { return text(KindVerbatim, s) }

// Array returns an array; the slice is kept, not copied.
func Array(elems ...Value) Value { return aggregate(KindArray, elems) }

// Bulks returns the elements of an array or a set of texts.
func Bulks(texts []string) []Value {
	out := make([]Value, len(texts))
	for i, text := range texts {
		out[i] = Bulk(text)
	}
	return out
}

// Aggregate returns an array, map, set or push; the slice is kept, not copied.
func Aggregate(kind Kind, elems []Value) Value { return aggregate(kind, elems) }

// Set returns an unordered collection; the slice is kept, not copied.
func Set(elems ...Value) Value { return aggregate(KindSet, elems) }

// Map returns a map of alternating keys and values; the slice is kept, not copied.
func Map(pairs ...Value) Value { return aggregate(KindMap, pairs) }

// Push returns an out-of-band message.
func Push(elems ...Value) Value { return aggregate(KindPush, elems) }

// Encode returns v encoded in proto, whatever protocol the rest of the reply uses.
func Encode(v Value, proto int) Value {
	return text(KindEncoded, string(Append(nil, &v, proto)))
}

// Encoded returns one or several replies that are already encoded. b must not change
// until the Value has been sent.
func Encoded(b []byte) Value {
	return Value{KindEncoded, int64(len(b)), unsafe.Pointer(unsafe.SliceData(b))}
}

// Kind returns the type of v.
func (v Value) Kind() Kind { return v.kind }

// Int returns the number of an integer, bool or BulkInt value.
func (v Value) Int() int64 { return v.num }

// Float returns the number of a double.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.num)) }

// Str returns the text of a status, error, bulk, verbatim or big number.
func (v Value) Str() string {
	if v.kind.IsAggregate() {
		return ""
	}
	return unsafe.String((*byte)(v.ptr), v.textLen())
}

// textLen returns the length of the text, 0 for numbers.
func (v Value) textLen() int64 {
	if v.ptr == nil {
		return 0
	}
	return v.num
}

// Elems returns the elements of an array, set, push or map (keys and values
// alternating). The slice must not be modified.
func (v Value) Elems() []Value {
	if !v.kind.IsAggregate() {
		return nil
	}
	return unsafe.Slice((*Value)(v.ptr), v.num)
}

// IsAggregate reports whether values of the kind have elements.
func (k Kind) IsAggregate() bool {
	return k == KindArray || k == KindMap || k == KindSet || k == KindPush
}

// IsLong reports whether v should be encoded at once instead of being kept, because it is, or may be, long.
func (v *Value) IsLong() bool {
	return v.kind >= KindEncoded || v.num >= LongText && v.kind.isText() ||
		v.num > longAggregate && v.kind.IsAggregate()
}

// longAggregate is how many elements an aggregate has at most that is not encoded at once.
const longAggregate = 256

func (k Kind) isText() bool {
	return k == KindBulk || k == KindStatus || k == KindError || k == KindVerbatim || k == KindBigNumber
}

// TextLen returns the length of the text in bytes, 0 of values that have none.
func (v *Value) TextLen() int {
	if v.kind.isText() || v.kind == KindEncoded {
		return int(v.num)
	}
	return 0
}

// unsafeBytes returns the bytes of s, which must not be changed.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// IsError reports whether v is an error reply.
func (v Value) IsError() bool { return v.kind == KindError }
