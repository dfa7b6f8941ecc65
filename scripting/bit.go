package scripting

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// bitLibrary returns LuaBitOp: operations on the low 32 bits with signed
// results.
func (in *interp) bitLibrary() map[string]lua.LGFunction {
	fold := func(op func(a, b uint32) uint32) lua.LGFunction {
		return func(L *lua.LState) int {
			n := in.checkBits(L, 1)
			for i := 2; i <= L.GetTop(); i++ {
				n = op(n, in.checkBits(L, i))
			}
			return pushBits(L, n)
		}
	}
	shift := func(op func(a uint32, n int) uint32) lua.LGFunction {
		return func(L *lua.LState) int {
			a := in.checkBits(L, 1)
			return pushBits(L, op(a, int(in.checkBits(L, 2)&31)))
		}
	}
	unary := func(op func(a uint32) uint32) lua.LGFunction {
		return func(L *lua.LState) int { return pushBits(L, op(in.checkBits(L, 1))) }
	}
	return map[string]lua.LGFunction{
		"tobit":   unary(func(a uint32) uint32 { return a }),
		"bnot":    unary(func(a uint32) uint32 { return ^a }),
		"bswap":   unary(bits.ReverseBytes32),
		"tohex":   in.bitToHex,
		"band":    fold(func(a, b uint32) uint32 { return a & b }),
		"bor":     fold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(a uint32, n int) uint32 { return a << n }),
		"rshift":  shift(func(a uint32, n int) uint32 { return a >> n }),
		"arshift": shift(func(a uint32, n int) uint32 { return uint32(int32(a) >> n) }),
		"rol":     shift(bits.RotateLeft32),
		"ror":     shift(func(a uint32, n int) uint32 { return bits.RotateLeft32(a, -n) }),
	}
}

// checkBits returns the low 32 bits of an argument as LuaBitOp does: in the sum
// with 2^52+2^51, a number of up to 51 bits ends up rounded in the low mantissa
// bits. Larger numbers lose their last bits, and hashes written in Lua depend
// on that.
func (in *interp) checkBits(L *lua.LState, n int) uint32 {
	f := in.checkNumber(L, n)
	if f != f {
		return 0
	}
	return uint32(math.Float64bits(f + (1<<52 + 1<<51)))
}

func pushBits(L *lua.LState, n uint32) int {
	L.Push(lua.LNumber(int32(n)))
	return 1
}

func (in *interp) bitToHex(L *lua.LState) int {
	n := in.checkBits(L, 1)
	digits := int32(8)
	if L.GetTop() > 1 {
		digits = int32(in.checkBits(L, 2))
	}
	upper := digits < 0
	if upper {
		digits = -digits
	}
	if digits < 0 || digits > 8 {
		digits = 8
	}
	s := strconv.FormatUint(uint64(n)|1<<32, 16)[1:]
	s = s[8-digits:]
	if upper {
		s = strings.ToUpper(s)
	}
	L.Push(lua.LString(s))
	return 1
}
