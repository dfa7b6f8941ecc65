package zset

import "strconv"

// maxNumber bounds the numbers a log holds, on either side of zero: up to it
// every integer is a float64 of its own, so score and member never disagree.
const maxNumber = 1 << 53

// maxDigits is the length of the longest member a log can hold.
const maxDigits = len("-9007199254740992")

// parseNumber reads the canonical decimal of an integer within maxNumber: what
// strconv.AppendInt would print for it, and nothing else ("007", "+7", "-0",
// "7.0" and "" are members of a tree).
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

// numberLen is the length of the decimal of v.
func numberLen(v int64) int {
	var b [maxDigits + 3]byte
	return len(strconv.AppendInt(b[:0], v, 10))
}
