package rdb

import (
	"encoding/binary"
	"math"

	"github.com/zlimit/zlimit/store/decimal"
)

// listpack builds a Redis listpack: a header (total bytes, four of them; element count,
// two), the elements, an end byte. Each element is its encoding, its content, and the
// length of both, so that it can be read backwards.
type listpack struct {
	data []byte
	n    int
}

// Encodings of elements, in the high bits of the first byte. Numbers of seven and
// thirteen bits and short strings share that byte.
const (
	lpInt7    = 0x00 // 0xxxxxxx
	lpText6   = 0x80 // 10xxxxxx: the length
	lpInt13   = 0xc0 // 110xxxxx and one more byte
	lpText12  = 0xe0 // 1110xxxx and one more byte: the length
	lpText32  = 0xf0 // four bytes: the length
	lpInt16   = 0xf1
	lpInt24   = 0xf2
	lpInt32   = 0xf3
	lpInt64   = 0xf4
	maxInt24  = 1<<23 - 1
	minInt24  = -1 << 23
	maxInt13  = 1<<12 - 1
	minInt13  = -1 << 12
	max7      = 1<<7 - 1
	maxText6  = 1<<6 - 1
	maxText12 = 1<<12 - 1
)

func (p *listpack) reset() {
	p.data = append(p.data[:0], make([]byte, listpackHeader)...)
	p.n = 0
}

// add appends an element, as a number if the text is the canonical decimal of an int64.
func (p *listpack) add(text []byte) {
	if n, ok := decimal.Parse(text); ok {
		p.addInt(n)
		return
	}
	start := len(p.data)
	switch n := len(text); {
	case n <= maxText6:
		p.data = append(p.data, lpText6|byte(n))
	case n <= maxText12:
		p.data = append(p.data, lpText12|byte(n>>8), byte(n))
	default:
		p.data = binary.LittleEndian.AppendUint32(append(p.data, lpText32), uint32(n))
	}
	p.data = append(p.data, text...)
	p.close(start)
}

func (p *listpack) addInt(n int64) {
	start := len(p.data)
	switch {
	case n >= 0 && n <= max7:
		p.data = append(p.data, lpInt7|byte(n))
	case n >= minInt13 && n <= maxInt13:
		p.data = append(p.data, lpInt13|byte(n>>8)&0x1f, byte(n))
	case n == int64(int16(n)):
		p.data = binary.LittleEndian.AppendUint16(append(p.data, lpInt16), uint16(n))
	case n >= minInt24 && n <= maxInt24:
		p.data = append(p.data, lpInt24, byte(n), byte(n>>8), byte(n>>16))
	case n == int64(int32(n)):
		p.data = binary.LittleEndian.AppendUint32(append(p.data, lpInt32), uint32(n))
	default:
		p.data = binary.LittleEndian.AppendUint64(append(p.data, lpInt64), uint64(n))
	}
	p.close(start)
}

// close ends the element that began at start.
func (p *listpack) close(start int) {
	p.data = appendBacklen(p.data, uint64(len(p.data)-start))
	p.n++
}

// finish returns the complete listpack.
func (p *listpack) finish() []byte {
	p.data = append(p.data, packEnd)
	binary.LittleEndian.PutUint32(p.data, uint32(len(p.data)))
	binary.LittleEndian.PutUint16(p.data[4:], uint16(min(p.n, countUnknown)))
	return p.data
}

// backlenSize returns how many bytes an element's length takes: seven bits each, with
// three limits one lower than necessary.
func backlenSize(n uint64) int {
	switch {
	case n <= max7:
		return 1
	case n < 1<<14-1:
		return 2
	case n < 1<<21-1:
		return 3
	case n < 1<<28-1:
		return 4
	}
	return 5
}

// appendBacklen appends an element's length, high bits first. All bytes but the first
// have a mark for reading backwards.
func appendBacklen(b []byte, n uint64) []byte {
	for i := backlenSize(n) - 1; i >= 0; i-- {
		part := byte(n>>(7*i)) & 0x7f
		if i != backlenSize(n)-1 {
			part |= 0x80
		}
		b = append(b, part)
	}
	return b
}

// elementSize returns the size of an element in a listpack.
func elementSize(text []byte) int {
	size := len(text)
	if n, ok := decimal.Parse(text); ok {
		size = intSize(n)
	} else {
		switch {
		case size <= maxText6:
			size++
		case size <= maxText12:
			size += 2
		case uint64(size) <= math.MaxUint32:
			size += 5
		}
	}
	return size + backlenSize(uint64(size))
}

func intSize(n int64) int {
	switch {
	case n >= 0 && n <= max7:
		return 1
	case n >= minInt13 && n <= maxInt13:
		return 2
	case n == int64(int16(n)):
		return 3
	case n >= minInt24 && n <= maxInt24:
		return 4
	case n == int64(int32(n)):
		return 5
	}
	return 9
}
