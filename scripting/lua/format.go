package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A directive is a conversion specification of string.format, as in C's printf.
type directive struct {
	minus, plus, space, alt, zero bool
	width                         int
	precision                     int // -1 if absent
	conversion                    byte
}

func stringFormat(L *Thread) int {
	format := L.CheckString(1)
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
		d, n := L.directive(format)
		format = format[n:]
		if arg++; arg > L.Top() {
			L.ArgError(arg, "no value")
		}
		b = L.appendDirective(b, &d, arg)
	}
	L.Push(L.FinishBuffer(b))
	return 1
}

// directive reads what follows a '%', and its length.
func (L *Thread) directive(format string) (d directive, i int) {
	d.precision = -1
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		switch format[i] {
		case '-':
			d.minus = true
		case '+':
			d.plus = true
		case ' ':
			d.space = true
		case '#':
			d.alt = true
		case '0':
			d.zero = true
		}
		i++
	}
	if i > 5 {
		L.Error("invalid format (repeated flags)")
	}
	digits := func() (n int) {
		for k := 0; k < 2 && i < len(format) && isDigit(format[i]); k++ {
			n = n*10 + int(format[i]-'0')
			i++
		}
		return n
	}
	d.width = digits()
	if i < len(format) && format[i] == '.' {
		i++
		d.precision = digits()
	}
	if i < len(format) && isDigit(format[i]) {
		L.Error("invalid format (width or precision too long)")
	}
	if i < len(format) {
		d.conversion = format[i]
		i++
	}
	return d, i
}

func (L *Thread) appendDirective(b []byte, d *directive, arg int) []byte {
	b = L.GrowBuffer(b, maxFormatted)
	switch d.conversion {
	case 'c':
		padded := d.pad(nil, string([]byte{byte(ToInteger(L.CheckNumber(arg)))}))
		text, _, _ := strings.Cut(string(padded), "\x00") // end of a C string
		return append(b, text...)
	case 'd', 'i':
		n := ToInteger(L.CheckNumber(arg))
		if d.plain() {
			return strconv.AppendInt(b, n, 10)
		}
		digits := strconv.FormatUint(magnitude(n), 10)
		return d.number(b, d.sign(n < 0), "", d.withPrecision(digits, n == 0), d.precision < 0)
	case 'o', 'u', 'x', 'X':
		return d.unsigned(b, ToUnsigned(L.CheckNumber(arg)))
	case 'e', 'E', 'f', 'g', 'G':
		return d.float(b, L.CheckNumber(arg))
	case 'q':
		s := L.CheckString(arg)
		return appendQuoted(L.GrowBuffer(b, 4*len(s)+2), s)
	case 's':
		s := L.CheckString(arg)
		b = L.GrowBuffer(b, len(s))
		if d.precision < 0 && len(s) >= 100 || d.plain() && strings.IndexByte(s, 0) < 0 {
			return append(b, s...)
		}
		if i := strings.IndexByte(s, 0); i >= 0 {
			s = s[:i]
		}
		if d.precision >= 0 {
			s = s[:min(len(s), d.precision)]
		}
		return d.pad(b, s)
	}
	shown := string([]byte{d.conversion})
	if d.conversion == 0 {
		shown = ""
	}
	L.Error("invalid option '%" + shown + "' to 'format'")
	return nil
}

// maxFormatted is the room for a formatted number: the width and the precision have two digits, and the
// largest number has 309.
const maxFormatted = 512

// plain reports whether there is only a conversion.
func (d *directive) plain() bool {
	return *d == directive{precision: -1, conversion: d.conversion}
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (d *directive) pad(b []byte, s string) []byte {
	return d.number(b, "", "", s, false)
}

func (d *directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.plus:
		return "+"
	case d.space:
		return " "
	}
	return ""
}

// withPrecision pads the digits of an integer to the precision.
func (d *directive) withPrecision(digits string, isZero bool) string {
	if d.precision == 0 && isZero {
		return ""
	}
	if n := d.precision - len(digits); n > 0 {
		return strings.Repeat("0", n) + digits
	}
	return digits
}

func (d *directive) number(b []byte, sign, prefix, digits string, mayZero bool) []byte {
	fill := max(d.width-len(sign)-len(prefix)-len(digits), 0)
	switch {
	case d.minus:
		b = append(append(append(b, sign...), prefix...), digits...)
		return append(b, strings.Repeat(" ", fill)...)
	case d.zero && mayZero:
		b = append(append(b, sign...), prefix...)
		b = append(b, strings.Repeat("0", fill)...)
		return append(b, digits...)
	}
	b = append(b, strings.Repeat(" ", fill)...)
	return append(append(append(b, sign...), prefix...), digits...)
}

func (d *directive) unsigned(b []byte, n uint64) []byte {
	base, prefix := 10, ""
	switch d.conversion {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
		if d.alt && n != 0 {
			prefix = "0" + string([]byte{d.conversion})
		}
	}
	digits := d.withPrecision(strconv.FormatUint(n, base), n == 0)
	if base == 8 && d.alt && !strings.HasPrefix(digits, "0") {
		digits = "0" + digits
	}
	if d.conversion == 'X' {
		digits = strings.ToUpper(digits)
	}
	return d.number(b, "", prefix, digits, d.precision < 0)
}

func (d *directive) float(b []byte, f float64) []byte {
	upper := d.conversion < 'a'
	negative := math.Signbit(f)
	finite := !math.IsInf(f, 0) && f == f
	var digits string
	switch {
	case f != f:
		negative = nanText(f)[0] == '-'
		digits = "nan"
	case !finite:
		digits = "inf"
	default:
		precision := d.precision
		if precision < 0 {
			precision = 6
		}
		verb := d.conversion | 0x20
		if d.alt || verb == 'g' && precision == 0 {
			spec := "%."
			if d.alt {
				spec = "%#."
			}
			if verb == 'g' {
				precision = max(precision, 1)
			}
			digits = fmt.Sprintf(spec+strconv.Itoa(precision)+string([]byte{verb}), math.Abs(f))
		} else {
			digits = strconv.FormatFloat(math.Abs(f), verb, precision, 64)
		}
	}
	if upper {
		digits = strings.ToUpper(digits)
	}
	return d.number(b, d.sign(negative), "", digits, finite)
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
