package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

func (in *interp) msgpackUnpack(L *lua.LState) int {
	text := in.checkString(L, 1)
	d := msgpackDecoder{in: in, L: L, rest: text, top: L.GetTop()}
	return d.results(math.MaxInt32)
}

func (in *interp) msgpackUnpackOne(L *lua.LState) int {
	return in.unpackFrom(L, 1, in.optInteger(L, 2))
}

func (in *interp) msgpackUnpackLimit(L *lua.LState) int {
	limit := toInteger(in.checkNumber(L, 2))
	return in.unpackFrom(L, limit, in.optInteger(L, 3))
}

func (in *interp) optInteger(L *lua.LState, n int) int64 {
	if L.Get(n) == lua.LNil {
		return 0
	}
	return toInteger(in.checkNumber(L, n))
}

// unpackFrom returns the offset to continue at, or -1 at the end, and up to
// limit values from offset. If both are 0, it returns all values and no offset.
func (in *interp) unpackFrom(L *lua.LState, limit, offset int64) int {
	text := in.checkString(L, 1)
	switch {
	case limit < 0 || offset < 0: // truncated to 32 bits, and with the length as limit, as in C
		in.failf(L, "Invalid request to unpack with offset of %d and limit of %d.",
			int32(offset), int32(len(text)))
	case offset > int64(len(text)):
		in.failf(L, "Start offset %d greater than input length %d.", int32(offset), int32(len(text)))
	}
	L.SetTop(1)
	d := msgpackDecoder{in: in, L: L, rest: text[offset:], top: 1}
	if limit == 0 && offset == 0 {
		return d.results(math.MaxInt32)
	}
	n := d.results(limit)
	in.checkStack(L, L.GetTop()+1, "in function mp_unpack_full")
	next := -1
	if d.rest != "" {
		next = len(text) - len(d.rest)
	}
	L.Insert(lua.LNumber(next), 2)
	return n + 1
}

type msgpackDecoder struct {
	in   *interp
	L    *lua.LState
	rest string
	top  int // height of Lua's stack in C, which bounds the nesting
	gap  int // array elements left empty so far
}

func (d *msgpackDecoder) results(limit int64) int {
	n, scratch := 0, d.in.meter.scratchBytes
	for ; d.rest != "" && int64(n) < limit; n++ {
		d.L.Push(d.value())
		d.top++
	}
	d.in.meter.scratchBytes = scratch
	return n
}

func (d *msgpackDecoder) read(n int) string {
	if n > len(d.rest) {
		d.in.fail(d.L, "Missing bytes in input.")
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

// value reads one value. It allocates for the bytes that follow, not for the
// length that the head claims.
func (d *msgpackDecoder) value() lua.LValue {
	d.in.checkStack(d.L, d.top+1, "too many return values at once; use unpack_one or unpack_limit instead.")
	switch first := d.read(1)[0]; {
	case first < mpFixMap:
		return number(int64(first))
	case first >= mpNegativeFix:
		return lua.LNumber(int8(first))
	case first < mpFixArray:
		return d.table(int(first&0x0f), true)
	case first < mpFixString:
		return d.table(int(first&0x0f), false)
	case first < mpNil:
		return d.string(int(first & 0x1f))
	case first == mpNil:
		return lua.LNil
	case first == mpFalse, first == mpTrue:
		return lua.LBool(first == mpTrue)
	case first == mpFloat32:
		return lua.LNumber(math.Float32frombits(uint32(d.bigEndian(4))))
	case first == mpFloat64:
		return doubleFromBits(d.bigEndian(8))
	case first >= mpUint8 && first <= mpUint64: // uint64 wraps around
		return lua.LNumber(int64(d.bigEndian(1 << (first - mpUint8))))
	case first >= mpInt8 && first <= mpInt64:
		size := 1 << (first - mpInt8)
		unused := 64 - 8*size
		return lua.LNumber(int64(d.bigEndian(size)) << unused >> unused)
	case first >= mpString8 && first <= mpString32:
		return d.string(int(d.bigEndian(1 << (first - mpString8))))
	case first == mpArray16, first == mpArray32:
		return d.table(int(d.bigEndian(2<<(first-mpArray16))), false)
	case first == mpMap16, first == mpMap32:
		return d.table(int(d.bigEndian(2<<(first-mpMap16))), true)
	}
	d.in.fail(d.L, "Bad data format in input.")
	return nil
}

func (d *msgpackDecoder) string(n int) lua.LValue { return lua.LString(d.read(n)) }

// maxGap bounds the array elements that one call may leave empty: the
// interpreter keeps keys up to maxArray in an array, and a few bytes can name a
// distant one.
const maxGap = maxArray

// table reads n values, or n keys and values if isMap.
func (d *msgpackDecoder) table(n int, isMap bool) lua.LValue {
	d.in.steps(d.L, 1)
	d.in.growScratch(d.L, tableSize)
	t := d.L.CreateTable(0, 0)
	d.top++
	if !isMap {
		d.in.checkStack(d.L, d.top+1, "in function mp_decode_to_lua_array")
	}
	last := 0 // the largest index so far
	entry := elementSize
	if isMap {
		entry = hashSize
	}
	for i := 1; i <= n; i++ {
		d.in.steps(d.L, 1)
		var key lua.LValue = lua.LNumber(i)
		if isMap {
			key = d.value()
		}
		d.top++
		value := d.value()
		d.top--
		switch k := key.(type) {
		case *lua.LNilType:
			d.in.throw(d.L, lua.LString("table index is nil"))
		case lua.LNumber:
			if k != k {
				d.in.throw(d.L, lua.LString("table index is NaN"))
			}
			if isMap && value != lua.LNil && int(k) > last && k < maxArray {
				d.addGap(int(k) - last - 1)
				last = int(k)
			}
		}
		there := t.RawGet(key) != lua.LNil
		if value != lua.LNil && !there {
			d.in.growScratch(d.L, entry)
		}
		if value != lua.LNil || there {
			t.RawSet(key, value)
		}
	}
	d.top--
	return t
}

func (d *msgpackDecoder) addGap(empty int) {
	if d.gap += empty; d.gap > maxGap {
		d.in.throw(d.L, lua.LString(errNoMemory))
	}
	d.in.growScratch(d.L, elementSize*empty)
}
