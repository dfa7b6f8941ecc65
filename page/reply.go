package page

import (
	"math"
	"strconv"

	"github.com/zlimit/zlimit/resp"
)

// appendReply appends a reply as JSON. Maps are objects; their keys are names of fields.
// Strings are bytes, so each byte is the character of the same number, U+0000 to U+00FF:
// the script gets what the command has answered, whatever a key is called.
func appendReply(b []byte, v resp.Value) []byte {
	switch v.Kind() {
	case resp.KindInteger:
		return strconv.AppendInt(b, v.Int(), 10)
	case resp.KindBulkInt:
		return append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"')
	case resp.KindBool:
		return strconv.AppendBool(b, v.Int() != 0)
	case resp.KindDouble:
		if f := v.Float(); !math.IsInf(f, 0) {
			return strconv.AppendFloat(b, f, 'g', -1, 64)
		}
		return appendString(b, strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case resp.KindNone, resp.KindNull, resp.KindNullArray, resp.KindStream, resp.KindEncoded:
		return append(b, "null"...)
	case resp.KindMap:
		b = append(b, '{')
		pairs := v.Elems()
		for i := 0; i+1 < len(pairs); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name(pairs[i])), ':')
			b = appendReply(b, pairs[i+1])
		}
		return append(b, '}')
	case resp.KindArray, resp.KindSet, resp.KindPush:
		b = append(b, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendReply(b, e)
		}
		return append(b, ']')
	}
	return appendString(b, v.Str())
}

// name returns the text of a map's key.
func name(v resp.Value) string {
	switch v.Kind() {
	case resp.KindInteger, resp.KindBulkInt:
		return strconv.FormatInt(v.Int(), 10)
	}
	return v.Str()
}

// appendString appends bytes as a JSON string of ASCII characters.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch ch := s[i]; {
		case ch < ' ' || ch > '~' || ch == '"' || ch == '\\' || ch == '<' || ch == '&':
			b = append(b, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
