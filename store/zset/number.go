package zset

import (
	"bytes"
	"strconv"
)

// maxNumber is the largest absolute value of a number in a log: up to it every integer has its own float64,
// so score and member always agree.
const maxNumber = 1 << 53

const (
	maxDigits = len("-9007199254740992") // longest member of one number
	maxMember = maxDigits + len(":9007199254740991")
)

// ParseMember parses the member of a log's entry: an integer within 2^53 of zero, which is its score, or a
// score, a colon and a number of units from 1 to MaxUnits. units is 0 for the first form. Numbers have the
// form that strconv.AppendInt gives them.
func ParseMember(b []byte) (score, units int64, ok bool) {
	colon := bytes.IndexByte(b, ':')
	if colon < 0 {
		score, ok = parseNumber(b)
		return score, 0, ok
	}
	if units, ok = parseNumber(b[colon+1:]); !ok || units < 1 || units > MaxUnits {
		return 0, 0, false
	}
	score, ok = parseNumber(b[:colon])
	return score, units, ok
}

// AppendMember appends the member of an entry with units.
func AppendMember(b []byte, score, units int64) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(b, score, 10), ':'), units, 10)
}

// parseNumber parses the canonical decimal of an integer within maxNumber, as strconv.AppendInt formats it.
// "007", "+7", "-0", "7.0" and "" are not canonical.
func parseNumber(b []byte) (int64, bool) {
	digits := b
	if len(digits) > 1 && digits[0] == '-' {
		digits = digits[1:]
		if digits[0] == '0' {
			return 0, false
		}
	}
	if len(digits) == 0 || len(digits) > maxDigits-1 || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	var v int64
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if v > maxNumber {
		return 0, false
	}
	if len(digits) != len(b) {
		v = -v
	}
	return v, true
}

func numberLen(v int64) int {
	var b [maxDigits]byte
	return len(strconv.AppendInt(b[:0], v, 10))
}
