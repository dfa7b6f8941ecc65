package redislib

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

// A jsonToken is the kind of a token.
type jsonToken uint8

const (
	tokenEnd jsonToken = iota
	tokenObjectBegin
	tokenObjectEnd
	tokenArrayBegin
	tokenArrayEnd
	tokenComma
	tokenColon
	tokenString
	tokenNumber
	tokenBoolean
	tokenNull
	tokenInvalid
	tokenInvalidNumber
	tokenUnendedString
	tokenInvalidEscape
	tokenInvalidUnicode
)

// jsonTokenNames are what errors call the tokens.
var jsonTokenNames = [...]string{
	"T_END", "T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_COMMA", "T_COLON", "T_STRING",
	"T_NUMBER", "T_BOOLEAN", "T_NULL", "invalid token", "invalid number", "unexpected end of string",
	"invalid escape code", "invalid unicode escape code",
}

// jsonPunctuation holds the tokens of one byte.
var jsonPunctuation = [256]jsonToken{
	0:   tokenEnd, // end of a C string
	'{': tokenObjectBegin, '}': tokenObjectEnd, '[': tokenArrayBegin, ']': tokenArrayEnd,
	',': tokenComma, ':': tokenColon,
}

// A jsonDecoder is one call of cjson.decode. The tables that it fills are on the stack.
type jsonDecoder struct {
	L        *lua.Thread
	settings *jsonSettings
	null     lua.Value
	text     string
	pos      int
	depth    int
	escaped  []byte // a string with escapes

	kind jsonToken // of the token
	at   int       // its start
	str  lua.Value // of a string token
	num  float64
}

func (j jsonLibrary) decode(L *lua.Thread) int {
	if L.Top() != 1 {
		L.ArgError(1, "expected 1 argument")
	}
	text := L.CheckString(1)
	if len(text) >= 2 && (text[0] == 0 || text[1] == 0) {
		L.Error("JSON parser does not support UTF-16 or UTF-32")
	}
	d := jsonDecoder{L: L, settings: j.jsonSettings, null: j.libraries.null, text: text}
	d.next()
	v := d.value()
	if d.next(); d.kind != tokenEnd {
		d.expected("the end")
	}
	return L.Return(v)
}

func (d *jsonDecoder) expected(what string) {
	d.L.Error(fmt.Sprintf("Expected %s but found %s at character %d", what, jsonTokenNames[d.kind], d.at+1))
}

func (d *jsonDecoder) next() {
	d.L.Step(1)
	text, pos := d.text, d.pos
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\n' || text[pos] == '\t' || text[pos] == '\r') {
		pos++
	}
	d.at, d.pos = pos, pos
	if pos == len(text) || text[pos] == 0 { // end of a C string
		d.kind = tokenEnd
		return
	}
	ch := text[pos]
	if kind := jsonPunctuation[ch]; kind != tokenEnd {
		d.kind = kind
		d.pos++
		return
	}
	switch rest := text[pos:]; {
	case ch == '"':
		d.string()
	case ch == '-' || syntax.IsDigit(ch):
		if d.settings.decodeInvalid == jsonOff && invalidJSONNumber(rest) {
			d.kind = tokenInvalidNumber
			return
		}
		d.number(rest)
	case strings.HasPrefix(rest, "true"), strings.HasPrefix(rest, "false"):
		d.kind, d.num = tokenBoolean, float64(btoi(ch == 't'))
		d.pos += 4 + btoi(ch == 'f')
	case strings.HasPrefix(rest, "null"):
		d.kind = tokenNull
		d.pos += 4
	case d.settings.decodeInvalid == jsonOn && strings.IndexByte("nNiI+", ch) >= 0 && invalidJSONNumber(rest):
		d.number(rest)
	default:
		d.kind = tokenInvalid
	}
}

// invalidJSONNumber reports whether s starts with a number that strtod accepts and JSON does not: a plus
// sign, leading zeros, hexadecimal, infinity, NaN.
func invalidJSONNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimLeft(s[:min(len(s), 8)], "-")
	if strings.HasPrefix(s, "0") {
		return len(s) > 1 && (s[1]|0x20 == 'x' || syntax.IsDigit(s[1]))
	}
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "inf") || strings.HasPrefix(s, "nan")
}

// jsonNumberBytes are the bytes of the numbers that strtod accepts.
var jsonNumberBytes = func() (set [256]bool) {
	for ch := range set {
		set[ch] = syntax.IsAlnum(byte(ch)) || strings.IndexByte("+-.()_", byte(ch)) >= 0
	}
	return set
}()

// number reads the longest prefix that is a number, as strtod does.
func (d *jsonDecoder) number(rest string) {
	end := 0
	for end < len(rest) && jsonNumberBytes[rest[end]] {
		end++
	}
	for ; end > 0; end-- {
		if f, ok := syntax.ParseNumber(rest[:end]); ok {
			d.kind, d.num = tokenNumber, f
			d.pos += end
			return
		}
		if end > 400 { // no number is longer
			end = 400
		}
	}
	d.kind = tokenInvalidNumber
}

func (d *jsonDecoder) string() {
	start := d.pos + 1
	for i := start; i < len(d.text); i++ {
		switch d.text[i] {
		case '"':
			d.pos = i + 1
			d.kind, d.str = tokenString, d.L.Substring(d.text, start, i)
			return
		case '\\':
			d.escapedString(start, i)
			return
		}
	}
	d.pos = len(d.text)
	d.kind, d.at = tokenUnendedString, len(d.text)
}

// escapedString reads a string whose first escape is at pos.
func (d *jsonDecoder) escapedString(start, pos int) {
	b := append(d.escaped[:0], d.text[start:pos]...)
	d.kind, d.pos = tokenString, pos
	for d.pos < len(d.text) {
		switch ch := d.text[d.pos]; ch {
		case '"':
			d.pos++
			d.escaped = b
			d.str = d.L.NewString(b)
			return
		case '\\':
			if b = d.escape(b); d.kind != tokenString {
				return
			}
		default:
			if len(b) == cap(b) {
				d.L.Grow(len(b))
			}
			b = append(b, ch)
			d.pos++
		}
	}
	d.kind, d.at = tokenUnendedString, len(d.text)
}

// escape reads an escape. It sets kind if that is invalid.
func (d *jsonDecoder) escape(b []byte) []byte {
	if d.pos+1 < len(d.text) {
		ch := d.text[d.pos+1]
		if ch == 'u' {
			return d.unicode(b)
		}
		if i := strings.IndexByte(`"\/bfnrt`, ch); i >= 0 {
			d.pos += 2
			return append(b, "\"\\/\b\f\n\r\t"[i])
		}
	}
	d.kind, d.at = tokenInvalidEscape, d.pos
	return b
}

func (d *jsonDecoder) unicode(b []byte) []byte {
	ch, ok := d.unit(d.pos)
	size := 6
	if ok && utf16.IsSurrogate(ch) {
		second, _ := d.unit(d.pos + size)
		ch = utf16.DecodeRune(ch, second)
		ok = ch != utf8.RuneError
		size *= 2
	}
	if !ok {
		d.kind, d.at = tokenInvalidUnicode, d.pos
		return b
	}
	d.pos += size
	return utf8.AppendRune(b, ch)
}

// unit reads \uXXXX at a position.
func (d *jsonDecoder) unit(pos int) (rune, bool) {
	if pos+6 > len(d.text) || d.text[pos:pos+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(d.text[pos+2:pos+6], 16, 16)
	return rune(n), err == nil
}

func (d *jsonDecoder) value() lua.Value {
	switch d.kind {
	case tokenString:
		return d.str
	case tokenNumber:
		return lua.Number(d.num)
	case tokenBoolean:
		return lua.Bool(d.num != 0)
	case tokenNull:
		return d.null
	case tokenArrayBegin:
		return d.array()
	case tokenObjectBegin:
		return d.object()
	}
	d.expected("value")
	return lua.Nil
}

// begin starts a table. end must follow.
func (d *jsonDecoder) begin() *lua.Table {
	if d.depth++; d.depth > d.settings.decodeDepth {
		d.L.Errorf("Found too many nested data structures (%d) at character %d", d.depth, d.pos)
	}
	t := d.L.NewTable(0, 0)
	d.L.Push(lua.TableValue(t))
	d.next()
	return t
}

func (d *jsonDecoder) end() lua.Value {
	d.depth--
	t := d.L.Get(-1)
	d.L.Pop(1)
	return t
}

func (d *jsonDecoder) array() lua.Value {
	t := d.begin()
	for i, more := 1, d.kind != tokenArrayEnd; more; i++ {
		d.L.RawSetInt(t, i, d.value())
		more = d.more(tokenArrayEnd, "comma or array end")
	}
	return d.end()
}

func (d *jsonDecoder) object() lua.Value {
	t := d.begin()
	for more := d.kind != tokenObjectEnd; more; {
		if d.kind != tokenString {
			d.expected("object key string")
		}
		key := d.str
		if d.next(); d.kind != tokenColon {
			d.expected("colon")
		}
		d.next()
		d.L.RawSet(t, key, d.value())
		more = d.more(tokenObjectEnd, "comma or object end")
	}
	return d.end()
}

// more reads the end of a table, or a comma and the token after it, and reports whether it was a comma.
func (d *jsonDecoder) more(end jsonToken, expected string) bool {
	if d.next(); d.kind == end {
		return false
	}
	if d.kind != tokenComma {
		d.expected(expected)
	}
	d.next()
	return true
}
