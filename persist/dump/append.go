package dump

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/zlimit/zlimit/store/decimal"
)

// AppendLength appends a length.
func AppendLength(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return append(b, bits14<<6|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, length32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, length64), n)
}

// AppendString appends a string uncompressed.
func AppendString[T string | []byte](b []byte, s T) []byte {
	return append(AppendLength(b, uint64(len(s))), s...)
}

// AppendInt appends the text of an integer, as a number if it fits in four bytes.
func AppendInt(b []byte, n int64) []byte {
	switch {
	case n == int64(int8(n)):
		return append(b, encoded<<6, byte(n)) // encodedInt8 is 0
	case n == int64(int16(n)):
		return binary.LittleEndian.AppendUint16(append(b, encoded<<6|encodedInt16), uint16(n))
	case n == int64(int32(n)):
		return binary.LittleEndian.AppendUint32(append(b, encoded<<6|encodedInt32), uint32(n))
	}
	var digits [20]byte
	return AppendString(b, strconv.AppendInt(digits[:0], n, 10))
}

const (
	// longestNumber is the length of the longest text that AppendText turns into a
	// number.
	longestNumber = len("-2147483648")
	// worthwhile is the length up to which compressing cannot make a text shorter.
	worthwhile = 20
)

// AppendText appends a string in its shortest form: as a number if it is the canonical
// decimal of one that fits in four bytes; compressed if lzf is not nil and that is
// shorter; or as it is.
func AppendText(b, s []byte, lzf *Compressor) []byte {
	if len(s) <= longestNumber {
		if n, ok := decimal.Parse(s); ok && n == int64(int32(n)) {
			return AppendInt(b, n)
		}
	}
	if lzf != nil && len(s) > worthwhile {
		if packed := lzf.Compress(s); packed != nil {
			b = append(b, encoded<<6|EncodedLZF)
			b = AppendLength(b, uint64(len(packed)))
			b = AppendLength(b, uint64(len(s)))
			return append(b, packed...)
		}
	}
	return AppendString(b, s)
}
