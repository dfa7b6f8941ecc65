package store

import (
	"slices"
	"strconv"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/decimal"
)

// A String is the value of a string key: a number where the text is the
// canonical decimal of an int64, bytes otherwise. Counting in place then costs
// no allocation, and OBJECT ENCODING has Redis' answer. The zero value is the
// number 0.
type String struct {
	num   int64
	bytes []byte
	enc   stringEncoding

	shared bool // a frozen string has the same bytes: what is there may not change any more
}

type stringEncoding uint8

const (
	encInt stringEncoding = iota
	encBytes
	encRaw // bytes that were edited in place: Redis never calls them embstr again
)

// NewString returns the value of SET with this text, which is copied.
func NewString(text []byte) *String {
	s := &String{}
	s.Set(text)
	return s
}

// NewInt returns the value n.
func NewInt(n int64) *String { return &String{num: n} }

// Set makes s the text, which is copied (into memory that s already has, where
// it fits).
func (s *String) Set(text []byte) {
	if n, ok := ParseInt(text); ok {
		s.SetInt(n)
		return
	}
	s.SetBytes(text)
}

// SetBytes is Set that leaves a number as text: what INCRBYFLOAT stores.
func (s *String) SetBytes(text []byte) {
	s.enc = encBytes
	if cap(s.bytes) < len(text) || cap(s.bytes) > 2*len(text)+64 || s.shared {
		s.bytes, s.shared = make([]byte, 0, len(text)), false
	}
	s.bytes = append(s.bytes[:0], text...)
}

// SetInt makes s the number n.
func (s *String) SetInt(n int64) { s.num, s.bytes, s.enc, s.shared = n, nil, encInt, false }

// Int returns the number where s is one.
func (s *String) Int() (n int64, ok bool) { return s.num, s.enc == encInt }

// Bytes returns the text. It may alias s and is good until s changes; a
// number is spelled into buf.
func (s *String) Bytes(buf []byte) []byte {
	if s.enc == encInt {
		return strconv.AppendInt(buf[:0], s.num, 10)
	}
	return s.bytes
}

// Size returns the length of the text in bytes.
func (s *String) Size() int {
	var digits [20]byte
	return len(s.Bytes(digits[:]))
}

// Memory returns the memory that the string takes, itself included, in bytes.
func (s *String) Memory() int64 {
	if s.bytes == nil {
		return stringBytes // a number, as most are that change often
	}
	return stringBytes + alloc.Alone(cap(s.bytes))
}

var stringBytes = alloc.Pointers(int(unsafe.Sizeof(String{})))

// Append adds text at the end and returns the new length.
func (s *String) Append(text []byte) int {
	s.edit()
	s.bytes = append(s.bytes, text...)
	return len(s.bytes)
}

// Overwrite writes text at offset, filling a gap with NUL bytes, and returns
// the new length.
func (s *String) Overwrite(offset int, text []byte) int {
	s.edit()
	if need := max(offset+len(text), len(s.bytes)); need > len(s.bytes) || s.shared {
		grown := make([]byte, need)
		copy(grown, s.bytes)
		s.bytes, s.shared = grown, false
	}
	copy(s.bytes[offset:], text)
	return len(s.bytes)
}

func (s *String) edit() {
	var digits [20]byte
	if s.enc == encInt {
		s.bytes = append([]byte(nil), s.Bytes(digits[:])...)
	}
	s.enc = encRaw
}

// maxEmbedded is the longest text that Redis stores in one piece with its
// header, and calls embstr.
const maxEmbedded = 44

// Clone returns a copy in the same encoding that shares nothing with s.
func (s *String) Clone() *String {
	c := *s
	c.bytes, c.shared = slices.Clone(s.bytes), false
	return &c
}

// Freeze returns the string as it is, to be read, not changed, while s changes.
// The bytes are shared until s writes over them; what it appends lies behind.
func (s *String) Freeze() *String {
	s.shared = s.enc != encInt
	c := *s
	return &c
}

// Encoding is the answer of OBJECT ENCODING.
func (s *String) Encoding() string {
	switch {
	case s.enc == encInt:
		return "int"
	case s.enc == encBytes && len(s.bytes) <= maxEmbedded:
		return "embstr"
	}
	return "raw"
}

// ParseInt reads the canonical decimal of an int64.
func ParseInt(text []byte) (n int64, ok bool) { return decimal.Parse(text) }
