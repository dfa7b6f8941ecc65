package redislib

import (
	"math"
	"math/bits"

	"github.com/zlimit/zlimit/scripting/lua"
)

// msgpackLibrary is lua-cmsgpack 0.4.0: no bin, ext or timestamp types, values nested deeper than 16 become
// nil, integral numbers are written as the smallest integer type.
var msgpackLibrary = []lua.Entry{
	{Name: "pack", Fn: msgpackPack},
	{Name: "unpack", Fn: msgpackUnpack},
	{Name: "unpack_one", Fn: msgpackUnpackOne},
	{Name: "unpack_limit", Fn: msgpackUnpackLimit},
}

func openMsgpack(s *lua.State) *lua.Table {
	t := newLibrary(s, msgpackLibrary)
	t.SetString("_NAME", lua.String("cmsgpack"))
	t.SetString("_VERSION", lua.String("lua-cmsgpack 0.4.0"))
	t.SetString("_DESCRIPTION", lua.String("MessagePack C implementation for Lua"))
	return t
}

// The first bytes of MessagePack values. The fix types hold a small value or length in the byte itself.
const (
	mpFixMap, mpFixArray, mpFixString = 0x80, 0x90, 0xa0
	mpNil, mpFalse, mpTrue            = 0xc0, 0xc2, 0xc3
	mpFloat32, mpFloat64              = 0xca, 0xcb
	mpUint8, mpUint64                 = 0xcc, 0xcf
	mpInt8, mpInt64                   = 0xd0, 0xd3
	mpString8, mpString32             = 0xd9, 0xdb
	mpArray16, mpArray32              = 0xdc, 0xdd
	mpMap16, mpMap32                  = 0xde, 0xdf
	mpNegativeFix                     = 0xe0
)

const msgpackNesting = 16

func msgpackPack(L *lua.Thread) int {
	n := L.Top()
	if n == 0 {
		L.ArgError(0, "MessagePack pack needs input.")
	}
	if 2*n > maxCStack {
		L.ArgError(0, "Too many arguments for MessagePack pack.")
	}
	b := L.Buffer()
	for i := 1; i <= n; i++ {
		v := L.Get(i)
		b = appendMsgpack(L, b, &v, 0)
	}
	return L.Return(L.FinishBuffer(b))
}

// maxMsgpackHead is the longest encoding of a value besides strings and tables.
const maxMsgpackHead = 9

func appendMsgpack(L *lua.Thread, b []byte, v *lua.Value, level int) []byte {
	L.Step(1)
	b = L.GrowBuffer(b, maxMsgpackHead)
	switch v.Kind() {
	case lua.KindString:
		s := v.Str()
		b = L.GrowBuffer(b, maxMsgpackHead+len(s))
		return append(appendMsgpackString(b, len(s)), s...)
	case lua.KindNumber:
		return appendMsgpackNumber(b, v.Num())
	case lua.KindBool:
		return append(b, mpFalse+byte(btoi(v.Truthy())))
	case lua.KindTable:
		if level < msgpackNesting {
			return appendMsgpackTable(L, b, v.Table(), level+1)
		}
	}
	return append(b, mpNil)
}

func appendMsgpackTable(L *lua.Thread, b []byte, t *lua.Table, level int) []byte {
	n, isList := listLength(t)
	if isList {
		b = appendMsgpackLength(b, n, mpFixArray, mpArray16)
		for i := 1; i <= n; i++ {
			v := t.GetInt(i)
			b = appendMsgpack(L, b, &v, level)
		}
		return b
	}
	b = appendMsgpackLength(b, n, mpFixMap, mpMap16)
	for key, value, _ := t.Next(lua.Nil); !key.IsNil(); key, value, _ = t.Next(key) {
		b = appendMsgpack(L, b, &key, level)
		b = appendMsgpack(L, b, &value, level)
	}
	return b
}

// listLength returns the number of entries, and whether their keys are 1 to n.
func listLength(t *lua.Table) (n int, isList bool) {
	most := 0
	isList = true
	for key, _, _ := t.Next(lua.Nil); !key.IsNil(); key, _, _ = t.Next(key) {
		n++
		if key.Kind() != lua.KindNumber {
			isList = false
			continue
		}
		if k := key.Num(); k < 1 || k > math.MaxInt32 || k != float64(int(k)) {
			isList = false
		} else {
			most = max(most, int(k))
		}
	}
	return n, isList && most == n
}

func appendMsgpackLength(b []byte, n int, fix, wide byte) []byte {
	if n <= 15 {
		return append(b, fix|byte(n))
	}
	return appendSized(b, wide-1, uint64(n), max(bits.Len(uint(n)), 9)) // there is no head with one byte
}

func appendMsgpackString(b []byte, n int) []byte {
	if n <= 31 {
		return append(b, mpFixString|byte(n))
	}
	return appendSized(b, mpString8, uint64(n), bits.Len(uint(n)))
}

func appendMsgpackNumber(b []byte, f float64) []byte {
	single := float32(f)
	switch n := lua.ToInteger(f); {
	case float64(n) == f && n >= -32 && n <= math.MaxInt8:
		return append(b, byte(n))
	case float64(n) == f && n >= 0:
		return appendSized(b, mpUint8, uint64(n), bits.Len64(uint64(n)))
	case float64(n) == f:
		return appendSized(b, mpInt8, uint64(n), bits.Len64(uint64(^n))+1)
	case float64(single) == f:
		return appendBigEndian(append(b, mpFloat32), uint64(math.Float32bits(single)), 4)
	}
	return appendBigEndian(append(b, mpFloat64), math.Float64bits(f), 8)
}

// appendSized appends a number of so many bits after the head that is first for one byte, and counts up for
// 2, 4 and 8.
func appendSized(b []byte, first byte, n uint64, width int) []byte {
	size := 1
	for 8*size < width {
		size *= 2
		first++
	}
	return appendBigEndian(append(b, first), n, size)
}

func appendBigEndian(b []byte, n uint64, size int) []byte {
	for size--; size >= 0; size-- {
		b = append(b, byte(n>>(8*size)))
	}
	return b
}
