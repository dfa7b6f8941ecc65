// Package decimal parses and appends integers in their canonical form, in which Redis stores a text as a
// number. It is not a general parser.
//
// This package is internal to zlimit: it may change in any release.
package decimal

// Parse parses the canonical decimal of an int64 as strconv.AppendInt formats it: an optional minus, but no
// leading zero, plus or space. It is Redis' string2ll.
func Parse(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 20 {
		return 0, false
	}
	digits, neg := text, false
	if text[0] == '-' {
		digits, neg = text[1:], true
	}
	if len(digits) == 0 || digits[0] == '0' && (neg || len(digits) > 1) {
		return 0, false
	}
	var u uint64
	for _, ch := range digits {
		d := ch - '0'
		if d > 9 || u > (1<<63)/10 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	switch {
	case neg && u <= 1<<63:
		return -int64(u), true
	case !neg && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}
