package syntax

import (
	"math"
	"strconv"
	"strings"
)

// ParseNumber parses s as Lua 5.1 converts strings to numbers: what C's strtod accepts, including
// hexadecimal, inf and nan, with white space around it. As in C, a NUL byte ends the text.
func ParseNumber(s string) (float64, bool) {
	if n, ok := ParseDigits(s); ok {
		return float64(n), true
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	for s != "" && IsSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && IsSpace(s[len(s)-1]) {
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

// ParseDigits parses an integer of few digits, the common case.
func ParseDigits(s string) (n int, ok bool) {
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
	if n, ok := ParseDigits(s); ok {
		return float64(n), true
	}
	switch {
	case s[0]|0x20 == 'n':
		return parseNaN(strings.ToLower(s))
	case !IsDigit(s[0]) && s[0] != '.' && s[0]|0x20 != 'i' || strings.IndexByte(s, '_') >= 0:
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
			if !IsAlnum(ch) && ch != '_' {
				return 0, false
			}
		}
	}
	return math.Float64frombits(0x7FF8000000000000), true
}

// ParseBase parses s as C's strtoul does in a base from 2 to 36: an overflow
// yields the largest value, and a minus sign wraps around.
func ParseBase(s string, base int) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && IsHex(s[2]) {
		s = s[2:]
	}
	end := 0
	for end < len(s) && IsAlnum(s[end]) && digitOf(s[end]) < base {
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
	if IsDigit(ch) {
		return int(ch - '0')
	}
	return int(ch|0x20-'a') + 10
}
