package redislib

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/scripting/lua"
)

// bitLibrary is LuaBitOp: operations on the low 32 bits with signed results.
var bitLibrary = []lua.Entry{
	{Name: "tobit", Fn: unaryBits(func(a uint32) uint32 { return a })},
	{Name: "bnot", Fn: unaryBits(func(a uint32) uint32 { return ^a })},
	{Name: "band", Fn: foldBits(func(a, b uint32) uint32 { return a & b })},
	{Name: "bor", Fn: foldBits(func(a, b uint32) uint32 { return a | b })},
	{Name: "bxor", Fn: foldBits(func(a, b uint32) uint32 { return a ^ b })},
	{Name: "lshift", Fn: shiftBits(func(a uint32, n int) uint32 { return a << n })},
	{Name: "rshift", Fn: shiftBits(func(a uint32, n int) uint32 { return a >> n })},
	{Name: "arshift", Fn: shiftBits(func(a uint32, n int) uint32 { return uint32(int32(a) >> n) })},
	{Name: "rol", Fn: shiftBits(bits.RotateLeft32)},
	{Name: "ror", Fn: shiftBits(func(a uint32, n int) uint32 { return bits.RotateLeft32(a, -n) })},
	{Name: "bswap", Fn: unaryBits(bits.ReverseBytes32)},
	{Name: "tohex", Fn: bitToHex},
}

func openBit(s *lua.State) *lua.Table { return newLibrary(s, bitLibrary) }

func unaryBits(op func(a uint32) uint32) lua.GoFunction {
	return func(L *lua.Thread) int { return pushBits(L, op(checkBits(L, 1))) }
}

func foldBits(op func(a, b uint32) uint32) lua.GoFunction {
	return func(L *lua.Thread) int {
		n := checkBits(L, 1)
		for i := 2; i <= L.Top(); i++ {
			n = op(n, checkBits(L, i))
		}
		return pushBits(L, n)
	}
}

func shiftBits(op func(a uint32, n int) uint32) lua.GoFunction {
	return func(L *lua.Thread) int {
		a := checkBits(L, 1)
		return pushBits(L, op(a, int(checkBits(L, 2)&31)))
	}
}

// checkBits returns the low 32 bits of an argument as LuaBitOp does: in the sum with 2^52+2^51, a number of
// up to 51 bits ends up rounded in the low mantissa bits. Larger numbers lose their last bits, and hashes
// written in Lua depend on that.
func checkBits(L *lua.Thread, n int) uint32 {
	f := L.CheckNumber(n)
	if f != f {
		return 0
	}
	return uint32(math.Float64bits(f + (1<<52 + 1<<51)))
}

func pushBits(L *lua.Thread, n uint32) int {
	return L.Return(lua.Number(float64(int32(n))))
}

func bitToHex(L *lua.Thread) int {
	n := checkBits(L, 1)
	digits := int32(8)
	if L.Top() > 1 {
		digits = int32(checkBits(L, 2))
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
	return L.Return(lua.String(s))
}
