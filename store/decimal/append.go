package decimal

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

const (
	eightDigits   = 1e8
	sixteenDigits = 1e16
)

// Append is strconv.AppendInt in base 10. It is made for the numbers of limits, of one digit to the 16 of an
// instant: eight digits are computed at once, in a word that has a byte for each.
func Append(buf []byte, n int64) []byte {
	switch u := uint64(n); {
	case u < 10:
		return append(buf, '0'+byte(u))
	case u < eightDigits:
		return appendDigits(buf, digits(u))
	case u < sixteenDigits:
		buf = appendDigits(buf, digits(u/eightDigits))
		return binary.LittleEndian.AppendUint64(buf, digits(u%eightDigits)|zeroDigits)
	}
	return strconv.AppendInt(buf, n, 10)
}

// appendDigits appends a result of digits, which is not 0, without leading zeros.
func appendDigits(buf []byte, word uint64) []byte {
	zeros := bits.TrailingZeros64(word) / 8
	buf = binary.LittleEndian.AppendUint64(buf, (word|zeroDigits)>>(8*zeros))
	return buf[:len(buf)-zeros]
}

const zeroDigits = 0x3030303030303030

// digits returns the eight digits of n < 1e8 in the bytes of a word, the first digit in the lowest byte.
// It halves lanes of four digits, then of two. The products, by 10486/2^20 for a hundredth and 103/2^10 for a
// tenth, are exact for so few digits and stay within their lanes.
func digits(n uint64) uint64 {
	const (
		hundredths = 0x0000007f0000007f
		tenths     = 0x000f000f000f000f
	)
	fours := n/10_000 | n%10_000<<32
	q := fours * 10_486 >> 20 & hundredths
	twos := q | (fours-100*q)<<16
	q = twos * 103 >> 10 & tenths
	return q | (twos-10*q)<<8
}
