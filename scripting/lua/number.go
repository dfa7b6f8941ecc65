package lua

import (
	"math"
	"strconv"
)

// AppendNumber appends f as Lua 5.1's tostring does, with C's %.14g.
func AppendNumber(b []byte, f float64) []byte {
	if n := int64(f); float64(n) == f && n > -1e14 && n < 1e14 && (n != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(b, n, 10)
	}
	return AppendG(b, f, 14)
}

// FormatNumber returns f as tostring does.
func FormatNumber(f float64) string {
	var buf [32]byte
	return string(AppendNumber(buf[:0], f))
}

// AppendG appends f as C's %.<precision>g without flags.
func AppendG(b []byte, f float64, precision int) []byte {
	switch {
	case f != f:
		return append(b, nanText(f)...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, f, 'g', precision, 64)
}

// nanText returns the text of a NaN as C does on the machines that Redis runs
// on, where invalid operations yield a NaN with the sign bit set. Go's math
// functions yield a positive one with payload 1, which is treated like it.
func nanText(f float64) string {
	bits := math.Float64bits(f)
	negative := bits>>63 == 1
	if bits&1 == 1 {
		negative = !negative
	}
	if negative {
		return "-nan"
	}
	return "nan"
}

// DoubleFromBits returns the number with these bits. It clears the last bit of a
// NaN, which nanText would interpret.
func DoubleFromBits(bits uint64) float64 {
	f := math.Float64frombits(bits)
	if f != f {
		f = math.Float64frombits(bits&^1 | 1<<51)
	}
	return f
}

// ToInteger converts as a C cast to long long does on x86-64: it truncates, and
// values out of range become the smallest integer.
func ToInteger(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// ToUnsigned converts as a C cast to unsigned long long does there. Out of range, NaN and negative values
// become the smallest signed integer, positive ones 0.
func ToUnsigned(f float64) uint64 {
	if f >= 1<<63 {
		return uint64(ToInteger(f-1<<63)) ^ 1<<63
	}
	return uint64(ToInteger(f))
}

// ToInt converts a library argument as luaL_checkint does. Values out of range
// saturate instead of wrapping around.
func ToInt(f float64) int {
	switch {
	case f != f:
		return math.MinInt32
	case f <= math.MinInt32:
		return math.MinInt32
	case f >= math.MaxInt32:
		return math.MaxInt32
	}
	return int(f)
}
