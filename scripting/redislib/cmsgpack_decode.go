package redislib

import (
	"math"

	"github.com/zlimit/zlimit/scripting/lua"
)

func msgpackUnpack(L *lua.Thread) int {
	d := msgpackDecoder{L: L, rest: L.CheckString(1), top: L.Top()}
	return d.results(math.MaxInt32)
}

func msgpackUnpackOne(L *lua.Thread) int { return unpackFrom(L, 1, optInteger(L, 2)) }

func msgpackUnpackLimit(L *lua.Thread) int {
	limit := lua.ToInteger(L.CheckNumber(2))
	return unpackFrom(L, limit, optInteger(L, 3))
}

func optInteger(L *lua.Thread, n int) int64 { return lua.ToInteger(L.OptNumber(n, 0)) }

// unpackFrom returns the offset to continue at, or -1 at the end, and up to limit values from offset. If both
// are 0, it returns all values and no offset.
func unpackFrom(L *lua.Thread, limit, offset int64) int {
	text := L.CheckString(1)
	switch {
	case limit < 0 || offset < 0: // truncated to 32 bits, and with the length as limit, as in C
		L.Errorf("Invalid request to unpack with offset of %d and limit of %d.",
			int32(offset), int32(len(text)))
	case offset > int64(len(text)):
		L.Errorf("Start offset %d greater than input length %d.", int32(offset), int32(len(text)))
	}
	L.SetTop(1)
	d := msgpackDecoder{L: L, rest: text[offset:], top: 1}
	if limit == 0 && offset == 0 {
		return d.results(math.MaxInt32)
	}
	n := d.results(limit)
	checkStack(L, L.Top()+1, "in function mp_unpack_full")
	next := -1
	if d.rest != "" {
		next = len(text) - len(d.rest)
	}
	L.PushNumber(float64(next))
	L.Insert(2)
	return n + 1
}

// A msgpackDecoder is one call. The tables that it fills are on the stack.
type msgpackDecoder struct {
	L    *lua.Thread
	rest string
	top  int // height of Lua's stack in C, which bounds the nesting
}

func (d *msgpackDecoder) results(limit int64) int {
	n := 0
	for ; d.rest != "" && int64(n) < limit; n++ {
		d.L.Push(d.value())
		d.top++
	}
	return n
}

func (d *msgpackDecoder) read(n int) string {
	if n > len(d.rest) {
		d.L.Error("Missing bytes in input.")
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *msgpackDecoder) bigEndian(size int) (n uint64) {
	for _, ch := range []byte(d.read(size)) {
		n = n<<8 | uint64(ch)
	}
	return n
}

// value reads one value. It allocates for the bytes that follow, not for the length that the head claims.
func (d *msgpackDecoder) value() lua.Value {
	checkStack(d.L, d.top+1, "too many return values at once; use unpack_one or unpack_limit instead.")
	switch first := d.read(1)[0]; {
	case first < mpFixMap:
		return lua.Number(float64(first))
	case first >= mpNegativeFix:
		return lua.Number(float64(int8(first)))
	case first < mpFixArray:
		return d.table(int(first&0x0f), true)
	case first < mpFixString:
		return d.table(int(first&0x0f), false)
	case first < mpNil:
		return d.string(int(first & 0x1f))
	case first == mpNil:
		return lua.Nil
	case first == mpFalse, first == mpTrue:
		return lua.Bool(first == mpTrue)
	case first == mpFloat32:
		return lua.Number(float64(math.Float32frombits(uint32(d.bigEndian(4)))))
	case first == mpFloat64:
		return lua.Number(lua.DoubleFromBits(d.bigEndian(8)))
	case first >= mpUint8 && first <= mpUint64: // uint64 wraps around
		return lua.Number(float64(int64(d.bigEndian(1 << (first - mpUint8)))))
	case first >= mpInt8 && first <= mpInt64:
		size := 1 << (first - mpInt8)
		unused := 64 - 8*size
		return lua.Number(float64(int64(d.bigEndian(size)) << unused >> unused))
	case first >= mpString8 && first <= mpString32:
		return d.string(int(d.bigEndian(1 << (first - mpString8))))
	case first == mpArray16, first == mpArray32:
		return d.table(int(d.bigEndian(2<<(first-mpArray16))), false)
	case first == mpMap16, first == mpMap32:
		return d.table(int(d.bigEndian(2<<(first-mpMap16))), true)
	}
	d.L.Error("Bad data format in input.")
	return lua.Nil
}

func (d *msgpackDecoder) string(n int) lua.Value {
	rest := d.rest
	d.read(n)
	return d.L.Substring(rest, 0, n)
}

// table reads n values, or n keys and values if isMap.
func (d *msgpackDecoder) table(n int, isMap bool) lua.Value {
	d.L.Step(1)
	t := d.L.NewTable(0, 0)
	d.L.Push(lua.TableValue(t))
	d.top++
	if !isMap {
		checkStack(d.L, d.top+1, "in function mp_decode_to_lua_array")
	}
	for i := 1; i <= n; i++ {
		d.L.Step(1)
		key := lua.Number(float64(i))
		if isMap {
			key = d.value()
		}
		d.top++
		value := d.value()
		d.top--
		if !value.IsNil() || isMap {
			d.L.RawSet(t, key, value)
		}
	}
	d.top--
	d.L.Pop(1)
	return lua.TableValue(t)
}
