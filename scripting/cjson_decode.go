package scripting

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

func (j jsonLibrary) decode(L *lua.LState) int {
	if L.GetTop() != 1 {
		j.in.argError(L, 1, "expected 1 argument")
	}
	text := j.in.checkString(L, 1)
	if len(text) >= 2 && (text[0] == 0 || text[1] == 0) {
		j.in.fail(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	d := jsonDecoder{in: j.in, settings: j.jsonSettings, L: L, text: text}
	scratch := j.in.meter.scratchBytes
	d.next()
	v := d.value()
	d.next()
	j.in.meter.scratchBytes = scratch
	if d.kind != "T_END" {
		d.expected("the end")
	}
	L.Push(v)
	return 1
}

type jsonDecoder struct {
	in       *interp
	L        *lua.LState
	settings *jsonSettings
	text     string
	pos      int
	depth    int

	kind  string // of the token, as errors name it; for an error, its text
	at    int    // start of the token
	str   string
	num   float64
	truth bool
}

func (d *jsonDecoder) expected(what string) {
	d.in.fail(d.L, fmt.Sprintf("Expected %s but found %s at character %d", what, d.kind, d.at+1))
}

func (d *jsonDecoder) next() {
	d.in.steps(d.L, 1)
	for d.pos < len(d.text) && strings.IndexByte(" \t\n\r", d.text[d.pos]) >= 0 {
		d.pos++
	}
	d.at = d.pos
	if d.pos == len(d.text) || d.text[d.pos] == 0 { // end of a C string
		d.kind = "T_END"
		return
	}
	ch := d.text[d.pos]
	if kind := punctuation(ch); kind != "" {
		d.kind = kind
		d.pos++
		return
	}
	rest := d.text[d.pos:]
	switch {
	case ch == '"':
		d.string()
	case ch == '-' || isDigit(ch):
		if d.settings.decodeInvalid == jsonOff && invalidJSONNumber(rest) {
			d.kind = "invalid number"
			return
		}
		d.number(rest)
	case strings.HasPrefix(rest, "true"), strings.HasPrefix(rest, "false"):
		d.kind, d.truth = "T_BOOLEAN", ch == 't'
		d.pos += 4 + btoi(ch == 'f')
	case strings.HasPrefix(rest, "null"):
		d.kind = "T_NULL"
		d.pos += 4
	case d.settings.decodeInvalid == jsonOn && strings.IndexByte("nNiI+", ch) >= 0 && invalidJSONNumber(rest):
		d.number(rest)
	default:
		d.kind = "invalid token"
	}
}

func punctuation(ch byte) string {
	switch ch {
	case '{':
		return "T_OBJ_BEGIN"
	case '}':
		return "T_OBJ_END"
	case '[':
		return "T_ARR_BEGIN"
	case ']':
		return "T_ARR_END"
	case ',':
		return "T_COMMA"
	case ':':
		return "T_COLON"
	}
	return ""
}

// invalidJSONNumber reports whether s starts with a number that strtod accepts
// and JSON does not: a plus sign, leading zeros, hexadecimal, infinity, NaN.
func invalidJSONNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimLeft(s[:min(len(s), 8)], "-")
	if strings.HasPrefix(s, "0") {
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(s[1]))
	}
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "inf") || strings.HasPrefix(s, "nan")
}

// number reads the longest prefix that is a number, as strtod does.
func (d *jsonDecoder) number(rest string) {
	end := 0
	for end < len(rest) && (isAlnum(rest[end]) || strings.IndexByte("+-.()_", rest[end]) >= 0) {
		end++
	}
	for ; end > 0; end-- {
		if f, ok := parseNumber(rest[:end]); ok {
			d.kind, d.num = "T_NUMBER", f
			d.pos += end
			return
		}
		if end > 400 { // no number is longer
			end = 400
		}
	}
	d.kind = "invalid number"
}

func (d *jsonDecoder) string() {
	var b []byte
	for d.pos++; d.pos < len(d.text); {
		switch ch := d.text[d.pos]; ch {
		case '"':
			d.pos++
			d.in.growScratch(d.L, 2*len(b)+stringSize)
			d.kind, d.str = "T_STRING", string(b)
			return
		case '\\':
			var ok bool
			start := d.pos
			if b, ok = d.escape(b); !ok {
				d.at = start
				return
			}
		default:
			b = append(b, ch)
			d.pos++
		}
	}
	d.kind, d.at = "unexpected end of string", len(d.text)
}

func (d *jsonDecoder) escape(b []byte) ([]byte, bool) {
	if d.pos+1 < len(d.text) {
		ch := d.text[d.pos+1]
		if ch == 'u' {
			return d.unicode(b)
		}
		if i := strings.IndexByte(`"\/bfnrt`, ch); i >= 0 {
			d.pos += 2
			return append(b, "\"\\/\b\f\n\r\t"[i]), true
		}
	}
	d.kind = "invalid escape code"
	return b, false
}

func (d *jsonDecoder) unicode(b []byte) ([]byte, bool) {
	first, ok := d.unit(d.pos)
	if ok && utf16.IsSurrogate(first) {
		var second rune
		if second, ok = d.unit(d.pos + 6); ok {
			first = utf16.DecodeRune(first, second)
			ok = first != utf8.RuneError
			d.pos += 6
		}
	}
	if !ok {
		d.kind = "invalid unicode escape code"
		return b, false
	}
	d.pos += 6
	return utf8.AppendRune(b, first), true
}

// unit reads \uXXXX at a position.
func (d *jsonDecoder) unit(pos int) (rune, bool) {
	if pos+6 > len(d.text) || d.text[pos:pos+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(d.text[pos+2:pos+6], 16, 16)
	return rune(n), err == nil
}

func (d *jsonDecoder) value() lua.LValue {
	switch d.kind {
	case "T_STRING":
		return lua.LString(d.str)
	case "T_NUMBER":
		return lua.LNumber(d.num)
	case "T_BOOLEAN":
		return lua.LBool(d.truth)
	case "T_NULL":
		return d.in.jsonNull
	case "T_ARR_BEGIN":
		return d.array()
	case "T_OBJ_BEGIN":
		return d.object()
	}
	d.expected("value")
	return nil
}

func (d *jsonDecoder) descend() {
	d.in.growScratch(d.L, tableSize)
	if d.depth++; d.depth > d.settings.decodeDepth {
		d.in.failf(d.L, "Found too many nested data structures (%d) at character %d", d.depth, d.pos)
	}
}

func (d *jsonDecoder) array() lua.LValue {
	d.descend()
	t := d.L.CreateTable(0, 0)
	d.next()
	if d.kind == "T_ARR_END" {
		d.depth--
		return t
	}
	for i := 1; ; i++ {
		if i == 1 {
			d.in.growScratch(d.L, arraySize)
		}
		d.in.growScratch(d.L, elementSize)
		t.RawSetInt(i, d.value())
		d.next()
		if d.kind == "T_ARR_END" {
			d.depth--
			return t
		}
		if d.kind != "T_COMMA" {
			d.expected("comma or array end")
		}
		d.next()
	}
}

func (d *jsonDecoder) object() lua.LValue {
	d.descend()
	t := d.L.CreateTable(0, 0)
	d.next()
	if d.kind == "T_OBJ_END" {
		d.depth--
		return t
	}
	d.in.growScratch(d.L, fieldsSize)
	for {
		if d.kind != "T_STRING" {
			d.expected("object key string")
		}
		key := d.str
		d.next()
		if d.kind != "T_COLON" {
			d.expected("colon")
		}
		d.next()
		d.in.growScratch(d.L, hashSize)
		t.RawSetString(key, d.value())
		d.next()
		if d.kind == "T_OBJ_END" {
			d.depth--
			return t
		}
		if d.kind != "T_COMMA" {
			d.expected("comma or object end")
		}
		d.next()
	}
}
