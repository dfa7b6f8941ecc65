package commands

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// options walks over the words behind a command's fixed arguments. It never
// reads past the end, and never guesses: a caller asks for a word, and then
// for as many values as that word takes.
type options struct {
	rest [][]byte
}

// word reports whether the next argument is the given lower-case word, and if
// so steps over it.
func (o *options) word(lower string) bool {
	if len(o.rest) == 0 || !EqualFold(o.rest[0], lower) {
		return false
	}
	o.rest = o.rest[1:]
	return true
}

// wordWith is word for an option that takes n values, which must be there.
func (o *options) wordWith(lower string, n int) bool {
	return len(o.rest) > n && o.word(lower)
}

// value steps over one argument; the caller knows that there is one.
func (o *options) value() []byte {
	v := o.rest[0]
	o.rest = o.rest[1:]
	return v
}

func (o *options) more() bool { return len(o.rest) > 0 }

// parseInt reads an integer as Redis' string2ll does.
func parseInt(arg []byte) (int64, bool) { return store.ParseInt(arg) }

// parseFloat reads a double as C's strtod does, all of it, NaN refused.
func parseFloat(arg []byte) (float64, bool) {
	f, ok := parseC(arg)
	return f, ok && !math.IsNaN(f)
}

// parseC reads what strtod reads: decimals, hexadecimals, inf, infinity and
// nan in any case. Go's own extra, underscores, is refused.
func parseC(arg []byte) (float64, bool) {
	if len(arg) == 0 || len(arg) > 256 {
		return 0, false
	}
	if n, ok := smallDecimal(arg); ok {
		return n, true
	}
	text := unsafe.String(unsafe.SliceData(arg), len(arg))
	hex := false
	for i := range len(text) {
		switch text[i] {
		case '_':
			return 0, false
		case 'x', 'X':
			hex = true
		}
	}
	if hex {
		return parseHex(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f == 0 && hasNonZeroDigit(text) {
		// Not a number, or out of range: strtod then says ERANGE, which Redis
		// takes for "not a float", for underflow to 0 as well.
		return 0, false
	}
	return f, true
}

// hasNonZeroDigit looks at the digits before the exponent.
func hasNonZeroDigit(text string) bool {
	for i := range len(text) {
		switch ch := text[i]; {
		case '1' <= ch && ch <= '9':
			return true
		case ch == 'e' || ch == 'E':
			return false
		}
	}
	return false
}

// smallDecimal is the fast path: a plain integer of up to 15 digits.
func smallDecimal(arg []byte) (float64, bool) {
	digits, neg := arg, false
	if arg[0] == '-' {
		digits, neg = arg[1:], true
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

// parseHex reads a hexadecimal with or without C's optional exponent, which Go
// demands.
func parseHex(text string) (float64, bool) {
	for i := range len(text) {
		if text[i] == 'p' || text[i] == 'P' {
			f, err := strconv.ParseFloat(text, 64)
			return f, err == nil
		}
	}
	f, err := strconv.ParseFloat(text+"p0", 64)
	return f, err == nil
}

// toInt reads an integer argument or gives the error to answer.
func toInt(arg []byte) (int64, resp.Value) {
	n, ok := parseInt(arg)
	if !ok {
		return 0, ErrNotInteger
	}
	return n, resp.None
}
