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

// ParseNumber parses s as Lua 5.1 converts strings to numbers: what C's strtod
// accepts, including hexadecimal, inf and nan, with white space around it. As
// in C, a NUL byte ends the text.
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
	digits := s
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	if digits == "" {
		return 0, false
	}
	f, ok := parseMagnitude(digits)
	if !ok {
		return 0, false
	}
	if negative {
		f = -f
	}
	return f, true
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
	if !isDigit(s[0]) && s[0] != '.' {
		return parseWord(strings.ToLower(s))
	}
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		return parseHex(s[2:])
	}
	if n, ok := parseDigits(s); ok {
		return float64(n), true
	}
	for i := range len(s) {
		// Go's syntax also has underscores, prefixes and words.
		ch := s[i]
		if !isDigit(ch) && ch != '.' && ch|0x20 != 'e' && ch != '+' && ch != '-' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func parseWord(s string) (float64, bool) {
	switch {
	case s == "inf" || s == "infinity":
		return math.Inf(1), true
	case s == "nan":
		return math.Float64frombits(0x7FF8000000000000), true
	case strings.HasPrefix(s, "nan(") && s[len(s)-1] == ')':
		for _, ch := range []byte(s[4 : len(s)-1]) {
			if !isAlnum(ch) && ch != '_' {
				return 0, false
			}
		}
		return math.Float64frombits(0x7FF8000000000000), true
	}
	return 0, false
}

func parseHex(s string) (float64, bool) {
	digits, exponent := s, "p0"
	if i := strings.IndexAny(s, "pP"); i >= 0 {
		digits, exponent = s[:i], s[i:]
	}
	n := 0
	for i := range len(digits) {
		switch {
		case isHex(digits[i]):
			n++
		case digits[i] != '.':
			return 0, false
		}
	}
	if n == 0 {
		return 0, false
	}
	if strings.IndexByte(exponent, '_') >= 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat("0x"+digits+exponent, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// parseBase parses s as C's strtoul does in a base from 2 to 36: an overflow
// yields the largest value, and a minus sign wraps around.
func parseBase(s string, base int) (float64, bool) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	negative := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	if base == 16 && i+2 < len(s) && s[i] == '0' && s[i+1]|0x20 == 'x' && isHex(s[i+2]) {
		i += 2
	}
	start := i
	var n uint64
	overflow := false
	for ; i < len(s); i++ {
		var d int
		switch ch := s[i]; {
		case isDigit(ch):
			d = int(ch - '0')
		case isAlpha(ch):
			d = int(ch|0x20-'a') + 10
		default:
			d = base
		}
		if d >= base {
			break
		}
		if n > (math.MaxUint64-uint64(d))/uint64(base) {
			overflow = true
		}
		n = n*uint64(base) + uint64(d)
	}
	if i == start {
		return 0, false
	}
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i < len(s) && s[i] != 0 {
		return 0, false
	}
	switch {
	case overflow:
		n = math.MaxUint64
	case negative:
		n = -n
	}
	return float64(n), true
}
