// Package decimal parses and appends integers in their canonical form, in which Redis stores a text as a
// number. It is not a general parser.
//
// This package is internal to zlimit: it may change in any release.
package decimal

// Parse parses the canonical decimal of an int64 as strconv.AppendInt formats it: an optional minus, but no
// leading zero, plus or space. It is Redis' string2ll.
func Parse(text []byte) (n int64, ok bool) {
	n, size := Leading(text)
	return n, size > 0 && size == len(text)
}

// Leading parses the canonical decimal that text begins with and returns its size in bytes. That is 0 if text
// begins with none, or with digits beyond an int64.
func Leading(text []byte) (n int64, size int) {
	digits := text
	neg := len(text) > 0 && text[0] == '-'
	if neg {
		digits = text[1:]
	}
	if len(digits) > 0 && digits[0] == '0' {
		if neg {
			return 0, 0
		}
		return 0, 1
	}
	var u uint64
	for size < len(digits) {
		d := digits[size] - '0'
		if d > 9 {
			break
		}
		if u > (1<<63)/10 {
			return 0, 0
		}
		u = u*10 + uint64(d)
		size++
	}
	switch {
	case u == 0:
		return 0, 0
	case neg && u <= 1<<63:
		return -int64(u), size + 1
	case !neg && u < 1<<63:
		return int64(u), size
	}
	return 0, 0
}
