package zset

import "strconv"

// An Entry is a member with its score. It stays valid when the set changes.
type Entry struct {
	// Score is never NaN.
	Score float64

	member   string
	isNumber bool
}

func numberEntry(v int64) Entry { return Entry{Score: float64(v), isNumber: true} }

// IsNumber reports whether the entry is from a log: its member is the canonical decimal of Number.
func (e Entry) IsNumber() bool { return e.isNumber }

// Number returns the score as an integer. It is meaningful only if IsNumber.
func (e Entry) Number() int64 { return int64(e.Score) }

// AppendMember appends the member's bytes to b.
func (e Entry) AppendMember(b []byte) []byte {
	if e.isNumber {
		return strconv.AppendInt(b, e.Number(), 10)
	}
	return append(b, e.member...)
}

// Member returns the member. It allocates if IsNumber.
func (e Entry) Member() string {
	if e.isNumber {
		return strconv.FormatInt(e.Number(), 10)
	}
	return e.member
}
