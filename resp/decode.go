package resp

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// ErrIncomplete is returned by Decode for what is not one whole reply.
var ErrIncomplete = errors.New("resp: not a whole reply")

// Decode returns the reply that b is the encoding of, in either protocol, and what follows it. Attributes
// are left out. Texts alias b.
func Decode(b []byte) (v Value, rest []byte, err error) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return None, b, ErrIncomplete
	}
	kind, text := line[0], string(line[1:])
	switch kind {
	case '+':
		return Status(text), rest, nil
	case '-':
		return Error(text), rest, nil
	case '_':
		return Null, rest, nil
	case '#':
		return Bool(text == "t"), rest, nil
	case '(':
		return BigNumber(text), rest, nil
	case ',':
		f, err := strconv.ParseFloat(text, 64)
		return Double(f), rest, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return None, b, err
	case kind == ':':
		return Int(n), rest, nil
	case n < 0 && kind == '*':
		return NullArray, rest, nil
	case n < 0:
		return Null, rest, nil
	}
	if build := decodedText[kind]; build != nil {
		if n > int64(len(rest))-2 {
			return None, b, ErrIncomplete
		}
		return build(string(rest[:n])), rest[n+2:], nil
	}
	return decodeElements(kind, n, rest)
}

// decodedText makes the values whose length is sent before them.
var decodedText = map[byte]func(string) Value{
	'$': Bulk,
	'!': Error,
	'=': func(s string) Value {
		_, text, _ := strings.Cut(s, ":")
		return Verbatim(text)
	},
}

// decodeElements decodes the elements of an aggregate.
func decodeElements(kind byte, n int64, rest []byte) (v Value, _ []byte, err error) {
	if kind == '%' || kind == '|' {
		n *= 2
	}
	if n > int64(len(rest)) {
		return None, rest, ErrIncomplete
	}
	elems := make([]Value, n)
	for i := range elems {
		if elems[i], rest, err = Decode(rest); err != nil {
			return None, rest, err
		}
	}
	switch kind {
	case '*':
		return Array(elems...), rest, nil
	case '%':
		return Map(elems...), rest, nil
	case '~':
		return Set(elems...), rest, nil
	case '>':
		return Push(elems...), rest, nil
	case '|':
		return Decode(rest)
	}
	return None, rest, errors.New("resp: unknown type " + strconv.Quote(string(kind)))
}
