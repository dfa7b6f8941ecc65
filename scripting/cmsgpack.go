package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// cmsgpackLibrary returns lua-cmsgpack 0.4.0: no bin, ext or timestamp types,
// values nested deeper than 16 become nil, integral numbers are written as the
// smallest integer type.
func (in *interp) cmsgpackLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"pack": in.msgpackPack, "unpack": in.msgpackUnpack,
		"unpack_one": in.msgpackUnpackOne, "unpack_limit": in.msgpackUnpackLimit,
	}
}

// The first bytes of MessagePack values. The fix types hold a small value or
// length in the byte itself.
const (
	mpFixMap, mpFixArray, mpFixString = 0x80, 0x90, 0xa0
	mpNil, mpFalse, mpTrue            = 0xc0, 0xc2, 0xc3
	mpFloat32, mpFloat64              = 0xca, 0xcb
	mpUint8, mpUint16                 = 0xcc, 0xcd
	mpUint32, mpUint64                = 0xce, 0xcf
	mpInt8, mpInt16                   = 0xd0, 0xd1
	mpInt32, mpInt64                  = 0xd2, 0xd3
	mpString8, mpString16, mpString32 = 0xd9, 0xda, 0xdb
	mpArray16, mpArray32              = 0xdc, 0xdd
	mpMap16, mpMap32                  = 0xde, 0xdf
	mpNegativeFix                     = 0xe0
)

const msgpackNesting = 16

func (in *interp) msgpackPack(L *lua.LState) int {
	n := L.GetTop()
	if n == 0 {
		in.argError(L, 0, "MessagePack pack needs input.")
	}
	if 2*n > maxCStack {
		in.argError(L, 0, "Too many arguments for MessagePack pack.")
	}
	scratch := in.meter.scratchBytes
	var b []byte
	for i := 1; i <= n; i++ {
		b = in.appendMsgpack(L, b, L.Get(i), 0)
	}
	in.meter.scratchBytes = scratch
	in.pushBytes(L, b)
	return 1
}

// maxMsgpackHead is the longest encoding of a value besides strings and tables.
const maxMsgpackHead = 9

func (in *interp) appendMsgpack(L *lua.LState, b []byte, v lua.LValue, level int) []byte {
	in.steps(L, 1)
	b = in.growBuffer(L, b, maxMsgpackHead)
	switch v := v.(type) {
	case lua.LString:
		b = in.growBuffer(L, b, maxMsgpackHead+len(v))
		return append(appendMsgpackString(b, len(v)), v...)
	case lua.LNumber:
		return appendMsgpackNumber(b, float64(v))
	case lua.LBool:
		return append(b, mpFalse+byte(btoi(bool(v))))
	case *lua.LTable:
		if level == msgpackNesting {
			break
		}
		v = in.content(v)
		if n, ok := listLength(v); ok {
			b = appendMsgpackLength(b, n, mpFixArray, mpArray16)
			for i := 1; i <= n; i++ {
				b = in.appendMsgpack(L, b, rawGetInt(v, i), level+1)
			}
			return b
		}
		n := 0
		for key, _ := v.Next(lua.LNil); key != lua.LNil; key, _ = v.Next(key) {
			n++
		}
		b = appendMsgpackLength(b, n, mpFixMap, mpMap16)
		for key, value := v.Next(lua.LNil); key != lua.LNil; key, value = v.Next(key) {
			b = in.appendMsgpack(L, b, key, level+1)
			b = in.appendMsgpack(L, b, value, level+1)
		}
		return b
	}
	return append(b, mpNil)
}

// listLength returns n if the keys of t are 1 to n.
func listLength(t *lua.LTable) (n int, ok bool) {
	most := 0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		k, ok := key.(lua.LNumber)
		if !ok || k < 1 || k > math.MaxInt32 || k != lua.LNumber(int(k)) {
			return 0, false
		}
		most = max(most, int(k))
		n++
	}
	return n, most == n
}

func appendMsgpackLength(b []byte, n int, fix, wide byte) []byte {
	switch {
	case n <= 15:
		return append(b, fix|byte(n))
	case n <= math.MaxUint16:
		return append(b, wide, byte(n>>8), byte(n))
	}
	return appendBigEndian(append(b, wide+1), uint64(n), 4)
}

func appendMsgpackString(b []byte, n int) []byte {
	switch {
	case n <= 31:
		return append(b, mpFixString|byte(n))
	case n <= math.MaxUint8:
		return append(b, mpString8, byte(n))
	case n <= math.MaxUint16:
		return append(b, mpString16, byte(n>>8), byte(n))
	}
	return appendBigEndian(append(b, mpString32), uint64(n), 4)
}

func appendMsgpackNumber(b []byte, f float64) []byte {
	if n := toInteger(f); float64(n) == f {
		return appendMsgpackInteger(b, n)
	}
	if single := float32(f); float64(single) == f {
		return appendBigEndian(append(b, mpFloat32), uint64(math.Float32bits(single)), 4)
	}
	return appendBigEndian(append(b, mpFloat64), math.Float64bits(f), 8)
}

func appendMsgpackInteger(b []byte, n int64) []byte {
	switch {
	case n >= -32 && n <= math.MaxInt8:
		return append(b, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		return append(b, mpUint8, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		return append(b, mpUint16, byte(n>>8), byte(n))
	case n >= 0 && n <= math.MaxUint32:
		return appendBigEndian(append(b, mpUint32), uint64(n), 4)
	case n >= 0:
		return appendBigEndian(append(b, mpUint64), uint64(n), 8)
	case n >= math.MinInt8:
		return append(b, mpInt8, byte(n))
	case n >= math.MinInt16:
		return append(b, mpInt16, byte(n>>8), byte(n))
	case n >= math.MinInt32:
		return appendBigEndian(append(b, mpInt32), uint64(n), 4)
	}
	return appendBigEndian(append(b, mpInt64), uint64(n), 8)
}

func appendBigEndian(b []byte, n uint64, size int) []byte {
	for size--; size >= 0; size-- {
		b = append(b, byte(n>>(8*size)))
	}
	return b
}
