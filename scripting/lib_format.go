package scripting

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A directive is a conversion specification of string.format, as in C's printf.
type directive struct {
	minus, plus, space, alt, zero bool
	width                         int
	precision                     int // -1 if absent
	conversion                    byte
}

func (in *interp) stringFormat(L *lua.LState) int {
	format := in.checkString(L, 1)
	scratch := in.meter.scratchBytes
	var b []byte
	arg := 1
	for i := 0; i < len(format); i++ {
		b = in.growBuffer(L, b, 1)
		if format[i] != '%' {
			b = append(b, format[i])
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			b = append(b, '%')
			continue
		}
		var d directive
		d, i = in.directive(L, format, i)
		if arg++; arg > L.GetTop() {
			in.argError(L, arg, "no value")
		}
		b = in.appendDirective(L, b, d, arg)
	}
	in.meter.scratchBytes = scratch
	L.Push(text(b))
	return 1
}

func (in *interp) directive(L *lua.LState, format string, i int) (directive, int) {
	d := directive{precision: -1}
	start := i
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
	if i-start > 5 {
		in.fail(L, "invalid format (repeated flags)")
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
		in.fail(L, "invalid format (width or precision too long)")
	}
	if i < len(format) {
		d.conversion = format[i]
	}
	return d, i
}

func (in *interp) appendDirective(L *lua.LState, b []byte, d directive, arg int) []byte {
	switch d.conversion {
	case 'c':
		padded := d.pad(nil, string([]byte{byte(toInteger(in.checkNumber(L, arg)))}))
		text, _, _ := strings.Cut(string(padded), "\x00") // end of a C string
		return append(b, text...)
	case 'd', 'i':
		n := toInteger(in.checkNumber(L, arg))
		digits := strconv.FormatUint(magnitude(n), 10)
		return d.number(b, d.sign(n < 0), "", d.withPrecision(digits, n == 0), d.precision < 0)
	case 'o', 'u', 'x', 'X':
		return d.unsigned(b, uint64(toInteger(in.checkNumber(L, arg))))
	case 'e', 'E', 'f', 'g', 'G':
		return d.float(b, in.checkNumber(L, arg))
	case 'q':
		s := in.checkString(L, arg)
		return appendQuoted(in.growBuffer(L, b, 4*len(s)+2), s)
	case 's':
		s := in.checkString(L, arg)
		b = in.growBuffer(L, b, len(s))
		if d.precision < 0 && len(s) >= 100 {
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
	in.fail(L, "invalid option '%"+shown+"' to 'format'")
	return nil
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
