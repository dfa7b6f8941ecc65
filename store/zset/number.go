package zset

import "strconv"

// maxNumber is the largest absolute value of a number in a log: up to it every integer has its own float64,
// so score and member always agree.
const maxNumber = 1 << 53

// maxDigits is the length of the longest member of a log.
const maxDigits = len("-9007199254740992")

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
	var b [maxDigits + 3]byte
	return len(strconv.AppendInt(b[:0], v, 10))
}
