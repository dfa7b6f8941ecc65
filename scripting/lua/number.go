package lua

import (
	"math"
	"strconv"
	"strings"
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

func isSpace(ch byte) bool { return ch == ' ' || ch >= '\t' && ch <= '\r' }
func isDigit(ch byte) bool { return '0' <= ch && ch <= '9' }
func isAlpha(ch byte) bool { return 'a' <= ch|0x20 && ch|0x20 <= 'z' }
func isAlnum(ch byte) bool { return isAlpha(ch) || isDigit(ch) }
func isHex(ch byte) bool   { return isDigit(ch) || 'a' <= ch|0x20 && ch|0x20 <= 'f' }

// ParseNumber parses s as Lua 5.1 converts strings to numbers: what C's strtod accepts, including
// hexadecimal, inf and nan, with white space around it. As in C, a NUL byte ends the text.
func ParseNumber(s string) (float64, bool) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	f, ok := parseMagnitude(s)
	if negative {
		f = -f
	}
	return f, ok
}

// parseDigits parses an integer of few digits, the common case.
func parseDigits(s string) (n int, ok bool) {
	const most = 15
	if len(s) == 0 || len(s) > most {
		return 0, false
	}
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int(d)
	}
	return n, true
}

func parseMagnitude(s string) (float64, bool) {
	if n, ok := parseDigits(s); ok {
		return float64(n), true
	}
	switch {
	case s[0]|0x20 == 'n':
		return parseNaN(strings.ToLower(s))
	case !isDigit(s[0]) && s[0] != '.' && s[0]|0x20 != 'i' || strings.IndexByte(s, '_') >= 0:
		return 0, false // Go's syntax has more
	case len(s) > 2 && s[1]|0x20 == 'x' && !strings.ContainsAny(s, "pP"):
		s += "p0" // which C does not require
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0) // an overflow
}

func parseNaN(s string) (float64, bool) {
	if s != "nan" {
		if !strings.HasPrefix(s, "nan(") || s[len(s)-1] != ')' {
			return 0, false
		}
		for _, ch := range []byte(s[4 : len(s)-1]) {
			if !isAlnum(ch) && ch != '_' {
				return 0, false
			}
		}
	}
	return math.Float64frombits(0x7FF8000000000000), true
}

// parseBase parses s as C's strtoul does in a base from 2 to 36: an overflow
// yields the largest value, and a minus sign wraps around.
func parseBase(s string, base int) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && isHex(s[2]) {
		s = s[2:]
	}
	end := 0
	for end < len(s) && isAlnum(s[end]) && digitOf(s[end]) < base {
		end++
	}
	if rest := strings.TrimLeft(s[end:], " \t\n\v\f\r"); end == 0 || rest != "" && rest[0] != 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:end], base, 64)
	if negative && err == nil {
		n = -n
	}
	return float64(n), true
}

// digitOf returns the value of a digit or letter.
func digitOf(ch byte) int {
	if isDigit(ch) {
		return int(ch - '0')
	}
	return int(ch|0x20-'a') + 10
}
