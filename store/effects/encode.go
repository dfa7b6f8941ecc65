package effects

import (
	"strconv"

	"github.com/zlimit/zlimit/store/decimal"
)

// A Head is the beginning of a command in RESP: its number of words and its name.
type Head string

// NewHead returns the head of a command of n words, including its name.
func NewHead(n int, name string) Head {
	return Head(appendBulk(appendHead(nil, '*', n), name))
}

func appendHead(b []byte, kind byte, n int) []byte {
	switch {
	case n < 10:
		return append(b, kind, '0'+byte(n), '\r', '\n')
	case n < 100:
		return append(b, kind, '0'+byte(n/10), '0'+byte(n%10), '\r', '\n')
	}
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), '\r', '\n')
}

// appendBulk appends a word.
func appendBulk[T []byte | string](b []byte, arg T) []byte {
	return append(append(appendHead(b, '$', len(arg)), arg...), '\r', '\n')
}

// appendInt appends an integer as a word.
func appendInt(b []byte, n int64) []byte {
	at := len(b)
	b = append(decimal.Append(append(b, "$00\r\n"...), n), '\r', '\n')
	size := len(b) - at - len("$00\r\n\r\n")
	if size < 10 {
		var digits [20]byte
		return appendBulk(b[:at], strconv.AppendInt(digits[:0], n, 10))
	}
	b[at+1], b[at+2] = '0'+byte(size/10), '0'+byte(size%10)
	return b
}

// Bytes adds an argument to the last begun command.
func (g *Group) Bytes(arg []byte) {
	if g.unlogged {
		return
	}
	g.bytes = appendBulk(g.bytes, arg)
}

// Text is Bytes for a string.
func (g *Group) Text(arg string) {
	if g.unlogged {
		return
	}
	g.bytes = appendBulk(g.bytes, arg)
}

// Int is Bytes for an integer.
func (g *Group) Int(arg int64) {
	if !g.unlogged {
		g.bytes = appendInt(g.bytes, arg)
	}
}

// Ints is Int for the same integer twice.
func (g *Group) Ints(arg int64) {
	if !g.unlogged {
		at := len(g.bytes)
		g.bytes = appendInt(g.bytes, arg)
		g.bytes = append(g.bytes, g.bytes[at:]...)
	}
}
