package set

import "strconv"

// A Member is one member of a set. It stays valid when the set changes.
type Member struct {
	text     string
	num      int64
	isNumber bool
}

// IsNumber reports whether the member is from an intset: its text is the canonical decimal of Number.
func (m Member) IsNumber() bool { return m.isNumber }

// Number returns the member as an integer. It is meaningful only if IsNumber.
func (m Member) Number() int64 { return m.num }

// AppendText appends the member's bytes to b.
func (m Member) AppendText(b []byte) []byte {
	if m.isNumber {
		return strconv.AppendInt(b, m.num, 10)
	}
	return append(b, m.text...)
}

// Text returns the member's bytes. It allocates if IsNumber.
func (m Member) Text() string {
	if m.isNumber {
		return strconv.FormatInt(m.num, 10)
	}
	return m.text
}
