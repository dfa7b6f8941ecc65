package lua

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// A directive is a conversion specification of string.format, as in C's printf.
type directive struct {
	flags            string
	width, precision int // -1 if absent
	conversion       byte
}

func stringFormat(L *Thread) int {
	format := L.CheckString(1)
	if v := L.Get(2); format == "%d" && v.kind == KindNumber && math.Abs(v.Num()) < 1e14 {
		return L.Return(L.NumberText(float64(int64(v.Num()))))
	}
	b := L.Buffer()
	arg := 1
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			i = len(format)
		}
		b = append(L.GrowBuffer(b, i+1), format[:i]...)
		if i == len(format) {
			break
		}
		format = format[i+1:]
		if strings.HasPrefix(format, "%") {
			b = append(b, '%')
			format = format[1:]
			continue
		}
		v := L.Get(arg + 1)
		if strings.HasPrefix(format, "s") && v.kind == KindString && strings.IndexByte(v.Str(), 0) < 0 {
			b = append(L.GrowBuffer(b, len(v.Str())), v.Str()...)
			arg++
			format = format[1:]
			continue
		}
		d, n := L.directive(format)
		format = format[n:]
		if arg++; arg > L.Top() {
			L.ArgError(arg, "no value")
		}
		b = L.appendDirective(b, d, arg)
	}
	return L.Return(L.FinishBuffer(b))
}

// directive reads what follows a '%', and its length.
func (L *Thread) directive(format string) (d directive, i int) {
	d.width, d.precision = -1, -1
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		i++
	}
	if d.flags = format[:i]; i > 5 {
		L.Error("invalid format (repeated flags)")
	}
	digits := func() (n int) {
		for k := 0; k < 2 && i < len(format) && syntax.IsDigit(format[i]); k++ {
			n = n*10 + int(format[i]-'0')
			i++
		}
		return n
	}
	if i < len(format) && syntax.IsDigit(format[i]) {
		d.width = digits()
	}
	if i < len(format) && format[i] == '.' {
		i++
		d.precision = digits()
	}
	if i < len(format) && syntax.IsDigit(format[i]) {
		L.Error("invalid format (width or precision too long)")
	}
	if i < len(format) {
		d.conversion = format[i]
		i++
	}
	return d, i
}

// maxFormatted is the room for a formatted number: the width and the precision have two digits, and the
// largest number has 309.
const maxFormatted = 512

func (L *Thread) appendDirective(b []byte, d directive, arg int) []byte {
	b = L.GrowBuffer(b, maxFormatted)
	switch d.conversion {
	case 'c':
		padded := d.pad(string([]byte{byte(ToInteger(L.CheckNumber(arg)))}))
		text, _, _ := strings.Cut(padded, "\x00") // end of a C string
		return append(b, text...)
	case 'd', 'i':
		n := ToInteger(L.CheckNumber(arg))
		if d.flags == "" && d.precision < 0 {
			return d.alignRight(strconv.AppendInt(b, n, 10), len(b))
		}
		if n == 0 && d.precision == 0 { // fmt leaves out the sign
			return append(b, d.pad(d.sign())...)
		}
		return d.verb(b, "-+ 0", 'd', n)
	case 'u':
		return d.verb(b, "-0", 'd', ToUnsigned(L.CheckNumber(arg)))
	case 'o', 'x', 'X':
		n := ToUnsigned(L.CheckNumber(arg))
		if n == 0 && d.has('#') { // C adds no 0x to a zero, but the digit in base 8
			if d.conversion == 'o' && d.precision == 0 {
				d.precision = 1
			}
			return d.verb(b, "-0", d.conversion, n)
		}
		if zeros := d.has('0') && !d.has('-') && d.precision < 0; zeros && d.has('#') && d.conversion != 'o' {
			d.width = max(d.width-2, -1) // fmt does not count the 0x
		}
		return d.verb(b, "-#0", d.conversion, n)
	case 'e', 'E', 'f', 'g', 'G':
		return d.float(b, L.CheckNumber(arg))
	case 'q':
		s := L.CheckString(arg)
		return appendQuoted(L.GrowBuffer(b, 4*len(s)+2), s)
	case 's':
		s := L.CheckString(arg)
		b = L.GrowBuffer(b, len(s))
		end := strings.IndexByte(s, 0)
		if d.precision < 0 && (len(s) >= 100 || d.width < 0 && end < 0) {
			return append(b, s...)
		}
		if end >= 0 {
			s = s[:end]
		}
		if d.precision >= 0 {
			s = s[:min(len(s), d.precision)]
		}
		return append(b, d.pad(s)...)
	}
	shown := string([]byte{d.conversion})
	if d.conversion == 0 {
		shown = ""
	}
	L.Error("invalid option '%" + shown + "' to 'format'")
	return nil
}

// verb appends a value as package fmt does with the flags that are allowed. Where the flags of C have an
// effect, it is the same.
func (d *directive) verb(b []byte, allowed string, verb byte, value any) []byte {
	spec := []byte{'%'}
	for _, flag := range []byte(d.flags) {
		if strings.IndexByte(allowed, flag) >= 0 {
			spec = append(spec, flag)
		}
	}
	if d.width >= 0 {
		spec = strconv.AppendInt(spec, int64(d.width), 10)
	}
	if d.precision >= 0 {
		spec = strconv.AppendInt(append(spec, '.'), int64(d.precision), 10)
	}
	return fmt.Appendf(b, string(append(spec, verb)), value)
}

func (d *directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

// sign returns what is before a number that is not negative.
func (d *directive) sign() string {
	switch {
	case d.has('+'):
		return "+"
	case d.has(' '):
		return " "
	}
	return ""
}

// pad returns s with spaces up to the width. Unlike fmt it counts bytes.
func (d *directive) pad(s string) string {
	spaces := strings.Repeat(" ", max(d.width-len(s), 0))
	if d.has('-') {
		return s + spaces
	}
	return spaces + s
}

// alignRight puts spaces before b[start:] up to the width.
func (d *directive) alignRight(b []byte, start int) []byte {
	for n := d.width - (len(b) - start); n > 0; n-- {
		b = slices.Insert(b, start, ' ')
	}
	return b
}

func (d *directive) float(b []byte, f float64) []byte {
	if f-f != 0 { // infinity or NaN
		var space [8]byte
		text := string(AppendG(space[:0], f, 1))
		if text[0] != '-' {
			text = d.sign() + text
		}
		if d.conversion < 'a' {
			text = strings.ToUpper(text)
		}
		return append(b, d.pad(text)...)
	}
	if d.precision < 0 {
		d.precision = 6
	}
	if d.precision == 0 && d.conversion|0x20 == 'g' {
		d.precision = 1
	}
	if d.flags == "" {
		return d.alignRight(strconv.AppendFloat(b, f, d.conversion, d.precision, 64), len(b))
	}
	return d.verb(b, "-+ #0", d.conversion, f)
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, ch := range []byte(s) {
		switch ch {
		case '"', '\\', '\n':
			b = append(b, '\\', ch)
		case '\r':
			b = append(b, `\r`...)
		case 0:
			b = append(b, `\000`...)
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
