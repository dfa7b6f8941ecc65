package zset

import "strconv"

// An Entry is a member with its score. It stays valid when the set changes.
type Entry struct {
	// Score is never NaN.
	Score float64

	member   string
	units    int64 // of a weighted entry of a log, whose member is made of score and units; otherwise 0
	isNumber bool
}

func numberEntry(v int64) Entry { return Entry{Score: float64(v), isNumber: true} }

// IsNumber reports whether the entry is from a log and its member is the canonical decimal of Number.
func (e Entry) IsNumber() bool { return e.isNumber }

// Units returns the number of units of an entry of a log, and 0 for others.
func (e Entry) Units() int64 {
	if e.isNumber {
		return 1
	}
	return e.units
}

// Number returns the score as an integer. It is meaningful only for an entry of a log.
func (e Entry) Number() int64 { return int64(e.Score) }

// AppendMember appends the member's bytes to b.
func (e Entry) AppendMember(b []byte) []byte {
	switch {
	case e.isNumber:
		return strconv.AppendInt(b, e.Number(), 10)
	case e.units > 0:
		return AppendMember(b, e.Number(), e.units)
	}
	return append(b, e.member...)
}

// Member returns the member. It allocates if the entry is from a log.
func (e Entry) Member() string {
	if e.isNumber || e.units > 0 {
		var b [maxMember]byte
		return string(e.AppendMember(b[:0]))
	}
	return e.member
}
