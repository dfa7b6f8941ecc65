package redislib

import (
	"math"
	"strings"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// structLibrary converts numbers and strings to and from C's representation in
// memory. A format is a sequence of options:
//
//   - b B h H i I l L T are integers, signed if lower-case; a size in bytes may
//     follow i and I.
//   - f and d are floats, x is a byte of padding, s is a string up to a NUL.
//   - cN is N bytes. c0 is the whole string, or as many bytes as the preceding
//     number.
//   - < and > set the byte order, !N sets the alignment; spaces are ignored.
//
// Where C leaves the result undefined, it is that of gcc on amd64.
var structLibrary = []lua.Entry{
	{Name: "pack", Fn: structPack},
	{Name: "unpack", Fn: structUnpack},
	{Name: "size", Fn: structSize},
}

func openStruct(s *lua.State) *lua.Table { return newLibrary(s, structLibrary) }

const (
	structMaxInteger = 32 // bytes
	structAlignment  = 8  // of a '!' without a number
)

type structFormat struct {
	L    *lua.Thread
	rest string

	bigEndian bool
	align     int
}

func newStructFormat(L *lua.Thread) structFormat {
	return structFormat{L: L, rest: resp.CString(L.CheckString(1)), align: 1}
}

// next returns an option and its size in bytes, 0 if it has none.
func (f *structFormat) next() (option byte, size int, ok bool) {
	if f.rest == "" {
		return 0, 0, false
	}
	option, f.rest = f.rest[0], f.rest[1:]
	switch option {
	case 'b', 'B', 'x':
		size = 1
	case 'h', 'H':
		size = 2
	case 'f':
		size = 4
	case 'l', 'L', 'T', 'd':
		size = 8
	case 'c':
		size = f.count(1)
	case 'i', 'I':
		if size = f.count(4); size > structMaxInteger {
			f.L.Errorf("integral size %d is larger than limit of %d", size, structMaxInteger)
		}
	}
	return option, size, true
}

func (f *structFormat) count(otherwise int) int {
	if f.rest == "" || !syntax.IsDigit(f.rest[0]) {
		return otherwise
	}
	n := 0
	for f.rest != "" && syntax.IsDigit(f.rest[0]) {
		n = n*10 + int(f.rest[0]-'0')
		if n > math.MaxInt32 {
			f.L.Error("integral size overflow")
		}
		f.rest = f.rest[1:]
	}
	return n
}

// padding returns the bytes of padding before an option at a position.
func (f *structFormat) padding(pos int, option byte, size int) int {
	if size == 0 || option == 'c' {
		return 0
	}
	size = min(size, f.align)
	return (size - pos&(size-1)) & (size - 1)
}

func (f *structFormat) control(option byte) {
	switch option {
	case ' ':
	case '<', '>':
		f.bigEndian = option == '>'
	case '!':
		n := f.count(structAlignment)
		if n <= 0 || n&(n-1) != 0 {
			f.L.Errorf("alignment %d is not a power of 2", n)
		}
		f.align = n
	default:
		f.L.ArgError(1, "invalid format option '"+string([]byte{option})+"'")
	}
}

func structPack(L *lua.Thread) int {
	f := newStructFormat(L)
	arg := 1
	L.Push(lua.Nil) // next in Redis' buffer after the arguments; errors show it
	b := L.Buffer()
	for option, size, ok := f.next(); ok; option, size, ok = f.next() {
		L.Step(1)
		b = L.GrowBuffer(b, 2*structMaxInteger) // padding and a number
		b = append(b, make([]byte, f.padding(len(b), option, size))...)
		switch option {
		case 'b', 'B', 'h', 'H', 'i', 'I', 'l', 'L', 'T', 'f', 'd':
			arg++
			b = f.appendInteger(b, numberBits(option, L.CheckNumber(arg)), size)
		case 'x':
			b = append(b, 0)
		case 'c', 's':
			arg++
			s := L.CheckString(arg)
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				L.ArgError(arg+1, "string too short")
			}
			b = append(L.GrowBuffer(b, size+1), s[:size]...)
			if option == 's' {
				b = append(b, 0)
			}
		default:
			f.control(option)
		}
	}
	return L.Return(L.FinishBuffer(b))
}

func structUnpack(L *lua.Thread) int {
	f := newStructFormat(L)
	data := L.CheckString(2)
	pos := structOffset(L)
	need := func(size int) {
		if pos < 0 || size > len(data) || pos > len(data)-size {
			L.ArgError(2, "data string too short")
		}
	}
	n := 0
	for option, size, ok := f.next(); ok; option, size, ok = f.next() {
		L.Step(1)
		pos += f.padding(pos, option, size)
		need(size)
		checkStack(L, L.Top()+2, "too many results")
		switch option {
		case 'b', 'B', 'h', 'H', 'i', 'I', 'l', 'L', 'T', 'f', 'd':
			L.PushNumber(numberFromBits(option, f.integer(data[pos:pos+size]), size))
			n++
		case 'c':
			if size == 0 {
				size = f.countBefore(n)
				need(size)
				L.Pop(1)
				n--
			}
			L.Push(L.Substring(data, pos, pos+size))
			n++
		case 's':
			end := strings.IndexByte(data[pos:], 0)
			if end < 0 {
				L.Error("unfinished string in data")
			}
			L.Push(L.Substring(data, pos, pos+end))
			size = end + 1
			n++
		case 'x':
		default:
			f.control(option)
		}
		pos += size
	}
	L.PushNumber(float64(pos + 1))
	return n + 1
}

// structOffset returns unpack's third argument, counted from 0. Only 0 is
// refused here; a negative offset fails against any data.
func structOffset(L *lua.Thread) int {
	n := lua.ToInteger(L.OptNumber(3, 1))
	if n == 0 {
		L.ArgError(3, "offset must be 1 or greater")
	}
	return int(n - 1)
}

// countBefore returns the preceding result of the n so far, as the size of a c0.
func (f *structFormat) countBefore(n int) int {
	if n > 0 {
		v := f.L.Get(-1)
		if size, ok := v.AsNumber(); ok {
			return int(min(lua.ToUnsigned(size), math.MaxInt32))
		}
	}
	f.L.Error("format 'c0' needs a previous size")
	return 0
}

func structSize(L *lua.Thread) int {
	f := newStructFormat(L)
	pos := 0
	for option, size, ok := f.next(); ok; option, size, ok = f.next() {
		L.Step(1)
		pos += f.padding(pos, option, size)
		switch {
		case option == 's':
			L.ArgError(1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			L.ArgError(1, "option 'c0' has no fixed size")
		case !syntax.IsAlnum(option):
			f.control(option)
		}
		pos += size
	}
	return L.Return(lua.Number(float64(pos)))
}

// numberBits returns what C has in memory for a number.
func numberBits(option byte, f float64) uint64 {
	switch option {
	case 'f':
		return uint64(math.Float32bits(float32(f)))
	case 'd':
		return math.Float64bits(f)
	}
	return lua.ToUnsigned(f)
}

// numberFromBits reverses numberBits.
func numberFromBits(option byte, bits uint64, size int) float64 {
	switch {
	case option == 'f':
		return float64(math.Float32frombits(uint32(bits)))
	case option == 'd':
		return lua.DoubleFromBits(bits)
	case option < 'a':
		return float64(bits)
	}
	return signed(bits, size)
}

// appendInteger appends the low bytes of n. Bytes beyond the eighth are zero, even if n was negative.
func (f *structFormat) appendInteger(b []byte, n uint64, size int) []byte {
	for i := range size {
		if f.bigEndian {
			i = size - 1 - i
		}
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

// integer reads what appendInteger wrote; beyond 8 bytes, only the low ones.
func (f *structFormat) integer(data string) (n uint64) {
	for i := range len(data) {
		if !f.bigEndian {
			i = len(data) - 1 - i
		}
		n = n<<8 | uint64(data[i])
	}
	return n
}

// signed extends the sign of an integer of size bytes. Beyond 8 bytes, the
// shift count wraps modulo 64 as on the processor.
func signed(n uint64, size int) float64 {
	sign := ^uint64(0) << (uint(8*size-1) & 63)
	if n&sign != 0 {
		n |= sign
	}
	return float64(int64(n))
}
