// Package bitmap reads and writes the bits of a string. Bit 0 is the most
// significant bit of the first byte, as in Redis. It knows no keys and allocates
// nothing.
//
// Positions are counted in bits. Where a function takes the first and the last
// of a range, both belong to it and lie within the bytes, unless first is above
// last: then the range is empty.
package bitmap

import (
	"encoding/binary"
	"math/bits"
)

// Size returns how many bytes a string needs to have a bit.
func Size(bit int64) int { return int(bit>>3) + 1 }

// Bit returns a bit, 0 behind the end.
func Bit(b []byte, at int64) int64 { return int64(Uint(b, at, 1)) }

// Count returns the number of bits that are set in a range.
func Count(b []byte, first, last int64) int64 {
	if first > last {
		return 0
	}
	i, j := first>>3, last>>3
	head, tail := edges(first, last)
	if i == j {
		return int64(bits.OnesCount8(b[i] & head & tail))
	}
	n := bits.OnesCount8(b[i]&head) + bits.OnesCount8(b[j]&tail)
	b = b[i+1 : j]
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.BigEndian.Uint64(b))
	}
	for _, c := range b {
		n += bits.OnesCount8(c)
	}
	return int64(n)
}

// Find returns the position of the first bit in a range that is as wanted, 0 or
// 1, and -1 where there is none.
func Find(b []byte, wanted, first, last int64) int64 {
	if first > last {
		return -1
	}
	flip := byte(0)
	if wanted == 0 {
		flip = 0xff
	}
	i, j := first>>3, last>>3
	head, tail := edges(first, last)
	if i == j {
		head &= tail
	}
	if c := (b[i] ^ flip) & head; c != 0 {
		return within(i, c)
	}
	for i++; i+8 <= j; i += 8 {
		if w := binary.BigEndian.Uint64(b[i:]) ^ uint64(flip)*0x0101010101010101; w != 0 {
			return i<<3 + int64(bits.LeadingZeros64(w))
		}
	}
	for ; i < j; i++ {
		if c := b[i] ^ flip; c != 0 {
			return within(i, c)
		}
	}
	if i == j {
		if c := (b[j] ^ flip) & tail; c != 0 {
			return within(j, c)
		}
	}
	return -1
}

// edges returns masks of the bits of a range that are in its first byte, and in
// its last.
func edges(first, last int64) (head, tail byte) { return 0xff >> (first & 7), 0xff << (7 - last&7) }

// within returns the position of the first bit that is set in byte i, which is
// not 0.
func within(i int64, c byte) int64 { return i<<3 + int64(bits.LeadingZeros8(c)) }

// And combines dst with src, which is taken to go on with zeros and must not be
// longer. They may not overlap.
func And(dst, src []byte) {
	n := len(src)
	for i := range n / 8 {
		put(dst, i, word(dst, i)&word(src, i))
	}
	for i := n &^ 7; i < n; i++ {
		dst[i] &= src[i]
	}
	clear(dst[n:])
}

// Or is And for or.
func Or(dst, src []byte) {
	for i := range len(src) / 8 {
		put(dst, i, word(dst, i)|word(src, i))
	}
	for i := len(src) &^ 7; i < len(src); i++ {
		dst[i] |= src[i]
	}
}

// Xor is And for exclusive or.
func Xor(dst, src []byte) {
	for i := range len(src) / 8 {
		put(dst, i, word(dst, i)^word(src, i))
	}
	for i := len(src) &^ 7; i < len(src); i++ {
		dst[i] ^= src[i]
	}
}

// Not inverts every bit.
func Not(b []byte) {
	for i := range len(b) / 8 {
		put(b, i, ^word(b, i))
	}
	for i := len(b) &^ 7; i < len(b); i++ {
		b[i] = ^b[i]
	}
}

func word(b []byte, i int) uint64   { return binary.NativeEndian.Uint64(b[8*i:]) }
func put(b []byte, i int, w uint64) { binary.NativeEndian.PutUint64(b[8*i:], w) }
