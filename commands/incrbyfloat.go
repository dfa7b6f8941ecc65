package commands

import (
	"math/big"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// longDoubleBits is the size of the mantissa of C's long double, in which Redis adds:
// 0.1 and 0.2 are 0.3 there, unlike in a double.
const longDoubleBits = 64

// maxLongDoubleText is the size of Redis' buffer for the text of one.
const maxLongDoubleText = 5 << 10

// maxLongDouble is the exponent above which a long double is infinite.
const maxLongDouble = 16384

// minLongDouble is the exponent of half the smallest long double. Larger numbers are
// not rounded to 0.
const minLongDouble = -16445

// INCRBYFLOAT key increment
func incrByFloat(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	sum := newLongDouble()
	if s != nil {
		var digits [20]byte
		if _, ok := parseLongDouble(sum, s.Bytes(digits[:])); !ok {
			return errNotFloat
		}
	}
	by, ok := parseLongDouble(newLongDouble(), c.Args[2])
	if !ok {
		return errNotFloat
	}
	text, ok := addLongDoubles(sum, by)
	if !ok {
		return errNaNOrInf
	}
	if n == nil {
		s = &store.String{}
		s.SetBytes(text)
		c.DB.Put(c.Args[1], s)
	} else {
		s.SetBytes(text)
		c.DB.Modified(n)
	}
	c.DidCall("SET", c.Args[1], text, keepTTL)
	return c.Copy(text)
}

// addLongDoubles formats the sum of two long doubles, unless one of them or the sum is
// infinite. It overwrites a.
func addLongDoubles(a, b *big.Float) (text []byte, ok bool) {
	if a.IsInf() || b.IsInf() {
		return nil, false
	}
	if a.Add(a, b).MantExp(nil) > maxLongDouble {
		return nil, false
	}
	return humanLongDouble(a), true
}

// newLongDouble returns a 0 for parseLongDouble to set.
func newLongDouble() *big.Float { return new(big.Float).SetPrec(longDoubleBits) }

// parseLongDouble reads text into f as strtold does.
func parseLongDouble(f *big.Float, text []byte) (*big.Float, bool) {
	if _, ok := parseInt(text); !ok {
		// The syntax is that of a double. Only the range is larger, which only the
		// exponent can exceed.
		if !longDoubleSyntax(text) {
			return f, false
		}
	}
	if inf, negative := longDoubleInf(text); inf {
		return f.SetInf(negative), true
	}
	if _, _, err := f.Parse(string(text), 0); err != nil {
		zero, outOfRange, ok := strtod(text) // the exponent may be too large for a big.Float
		return f, ok && zero == 0 && !outOfRange
	}
	if f.IsInf() {
		return f, true
	}
	exp := f.MantExp(nil)
	return f, f.Sign() == 0 || exp <= maxLongDouble &&
		(exp > minLongDouble || exp == minLongDouble && f.MinPrec() > 1)
}

// longDoubleInf reports whether text is infinity as strtold reads it.
func longDoubleInf(text []byte) (inf, negative bool) {
	negative = len(text) > 0 && text[0] == '-'
	if negative || len(text) > 0 && text[0] == '+' {
		text = text[1:]
	}
	return EqualFold(text, "inf") || EqualFold(text, "infinity"), negative
}

// longDoubleSyntax reports whether big.Float and strtold agree that text is a
// number: no underscore, no 0b or 0o, no leading zero read as octal.
func longDoubleSyntax(text []byte) bool {
	if len(text) == 0 || len(text) >= maxLongDoubleText {
		return false
	}
	for i, ch := range text {
		switch ch {
		case '_', 'b', 'B', 'o', 'O':
			return false
		case ' ', '\t', '\n', '\v', '\f', '\r':
			return false
		case 'p', 'P':
			if !hasHexPrefix(text[:i]) {
				return false
			}
		}
	}
	return true
}

func hasHexPrefix(text []byte) bool {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	return len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')
}

// humanLongDouble formats f with 17 digits after the point and without trailing zeros,
// as Redis does.
func humanLongDouble(f *big.Float) []byte {
	text := f.Append(nil, 'f', 17)
	end := len(text)
	for text[end-1] == '0' {
		end--
	}
	if text[end-1] == '.' {
		end--
	}
	text = text[:end]
	if string(text) == "-0" {
		return []byte("0")
	}
	return text
}
