package commands

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"unsafe"
)

// Redis reads floats with C's strtod, in three ways. All three take decimals,
// hexadecimals, inf, infinity and nan, in any case and of any length:
//
//   - parseFloat, of scores, increments and weights, wants nothing else in the
//     argument, and a value that a double can hold;
//   - parseRangeFloat, of the ends of a range, stops at a NUL byte, skips spaces
//     and lets the value overflow;
//   - parseSortFloat, of what SORT compares, stops and skips likewise, and
//     refuses a value that a double cannot hold exactly enough.
//
// Only texts that Redis reads as a long double, of INCRBYFLOAT and timeouts, have a
// maximal length: maxLongDoubleText.

// strtod reads all of text as C's strtod does. outOfRange reports that C sets ERANGE; f
// is then infinite, 0 or denormal. NaN is a number here.
func strtod(text []byte) (f float64, outOfRange, ok bool) {
	if n, ok := smallDecimal(text); ok {
		return n, false, true
	}
	isHex := false
	for _, ch := range text {
		switch ch {
		case '_': // Go's own extra
			return 0, false, false
		case 'x', 'X':
			isHex = true
		}
	}
	s := unsafe.String(unsafe.SliceData(text), len(text))
	if isHex && !bytes.ContainsAny(text, "pP") {
		s += "p0" // optional in C
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case math.IsInf(f, 0) && err != nil:
		return f, true, true
	case err != nil:
		return 0, false, false
	case f == 0:
		return f, hasNonZeroDigit(text, isHex), true
	case math.Abs(f) < smallestNormal:
		return f, !isExactly(s, f), true
	}
	return f, false, true
}

const smallestNormal = 0x1p-1022

// isExactly reports whether a number's text is exactly f, which is denormal. A text of
// more than 2000 bytes is not: 1074 digits suffice for all of them.
func isExactly(text string, f float64) bool {
	if len(text) > 2000 {
		return false
	}
	exact, ok := new(big.Rat).SetString(text)
	return ok && exact.Cmp(new(big.Rat).SetFloat64(f)) == 0
}

// hasNonZeroDigit reports whether a digit before the exponent is not 0.
func hasNonZeroDigit(text []byte, isHex bool) bool {
	for _, ch := range text {
		switch {
		case '1' <= ch && ch <= '9':
			return true
		case isHex && 'a' <= ch|0x20 && ch|0x20 <= 'f':
			return true
		case ch|0x20 == 'p' || ch|0x20 == 'e':
			return false
		}
	}
	return false
}

// smallDecimal is the fast path: a plain integer of up to 15 digits.
func smallDecimal(text []byte) (float64, bool) {
	digits, neg := text, false
	if len(text) > 0 && text[0] == '-' {
		digits, neg = text[1:], true
	}
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	n := int64(0)
	for _, ch := range digits {
		if ch < '0' || ch > '9' {
			return 0, false
		}
		n = n*10 + int64(ch-'0')
	}
	if neg {
		return -float64(n), true
	}
	return float64(n), true
}

// parseFloat reads a score: the whole argument, not NaN, and no number that becomes
// infinite or 0 in a double.
func parseFloat(arg []byte) (float64, bool) {
	f, outOfRange, ok := strtod(arg)
	return f, ok && !math.IsNaN(f) && !(outOfRange && (f == 0 || math.IsInf(f, 0)))
}

// parseRangeFloat reads one end of a score range.
func parseRangeFloat(arg []byte) (float64, bool) {
	f, _, ok := strtodPrefix(arg)
	return f, ok && !math.IsNaN(f)
}

// parseSortFloat reads what SORT compares.
func parseSortFloat(text []byte) (float64, bool) {
	f, outOfRange, ok := strtodPrefix(text)
	return f, ok && !outOfRange && !math.IsNaN(f)
}

// strtodPrefix is strtod for an argument that ends at a NUL byte, with the spaces that
// C skips and the empty text that it reads as 0.
func strtodPrefix(arg []byte) (f float64, outOfRange, ok bool) {
	if f, outOfRange, ok = strtod(arg); ok {
		return f, outOfRange, true
	}
	text := cString(arg)
	if len(text) == 0 {
		return 0, false, true
	}
	return strtod(bytes.TrimLeft(text, " \t\n\v\f\r"))
}

// parseSeconds reads a timeout, for which Redis uses a long double. A number out of a
// double's range becomes infinite or almost 0.
func parseSeconds(arg []byte) (float64, bool) {
	if len(arg) >= maxLongDoubleText {
		return 0, false
	}
	if f, ok := parseFloat(arg); ok {
		return f, true
	}
	long, ok := parseLongDouble(newLongDouble(), arg)
	if !ok {
		return 0, false
	}
	f, _ := long.Float64()
	if f == 0 && long.Sign() != 0 {
		f = math.Copysign(math.SmallestNonzeroFloat64, float64(long.Sign()))
	}
	return f, true
}
