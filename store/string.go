package store

import (
	"slices"
	"strconv"
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/decimal"
)

// A String is the value of a string key: a number if the text is the canonical decimal of an int64, bytes
// otherwise. So counting in place does not allocate, and OBJECT ENCODING answers as Redis does. The zero
// value is the number 0.
type String struct {
	num   int64
	bytes []byte
	enc   stringEncoding

	shared bool // a frozen string shares bytes: what is there must not be overwritten
}

type stringEncoding uint8

const (
	encInt stringEncoding = iota
	encBytes
	encRaw // bytes that were edited in place: Redis never reports them as embstr again
)

// NewString returns the value that SET stores for text, which is copied.
func NewString(text []byte) *String {
	s := &String{}
	s.Set(text)
	return s
}

// NewInt returns the value n.
func NewInt(n int64) *String { return &String{num: n} }

// Set sets s to text, which is copied, into the memory of s if it fits.
func (s *String) Set(text []byte) {
	if n, ok := ParseInt(text); ok {
		s.SetInt(n)
		return
	}
	s.SetBytes(text)
}

// SetBytes is Set without the conversion to a number: what INCRBYFLOAT stores.
func (s *String) SetBytes(text []byte) {
	s.enc = encBytes
	if cap(s.bytes) < len(text) || cap(s.bytes) > 2*len(text)+64 || s.shared {
		s.bytes, s.shared = make([]byte, 0, len(text)), false
	}
	s.bytes = append(s.bytes[:0], text...)
}

// SetInt sets s to the number n.
func (s *String) SetInt(n int64) { s.num, s.bytes, s.enc, s.shared = n, nil, encInt, false }

// Int returns the number if s is one.
func (s *String) Int() (n int64, ok bool) { return s.num, s.enc == encInt }

// Bytes returns the text. It may alias s and is valid until s changes; a number is formatted into buf.
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

// Len returns 1: as a Value, a string is a single element.
func (s *String) Len() int { return 1 }

// Memory returns the memory of the string in bytes, itself included.
func (s *String) Memory() int64 {
	if s.bytes == nil {
		return stringBytes // a number, like most strings that change often
	}
	return stringBytes + alloc.Single(cap(s.bytes))
}

var stringBytes = alloc.Pointers(int(unsafe.Sizeof(String{})))

// Append appends text and returns the new length.
func (s *String) Append(text []byte) int {
	s.edit()
	s.bytes = append(s.bytes, text...)
	return len(s.bytes)
}

// Overwrite writes text at offset, filling a gap with NUL bytes, and returns the new length.
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

// maxEmbedded is the length of the longest text that Redis stores as embstr, in one piece with its header.
const maxEmbedded = 44

// Clone returns a copy in the same encoding that shares nothing with s.
func (s *String) Clone() *String {
	c := *s
	c.bytes, c.shared = slices.Clone(s.bytes), false
	return &c
}

// Freeze returns a read-only copy of s that does not change with s. It shares the bytes until s overwrites
// them; appending to s does not affect it.
func (s *String) Freeze() *String {
	s.shared = s.enc != encInt
	c := *s
	return &c
}

// Encoding returns the reply of OBJECT ENCODING.
func (s *String) Encoding() string {
	switch {
	case s.enc == encInt:
		return "int"
	case s.enc == encBytes && len(s.bytes) <= maxEmbedded:
		return "embstr"
	}
	return "raw"
}

// ParseInt parses the canonical decimal of an int64.
func ParseInt(text []byte) (n int64, ok bool) { return decimal.Parse(text) }
