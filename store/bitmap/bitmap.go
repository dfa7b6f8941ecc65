// Package bitmap reads and writes the bits of a string. Bit 0 is the most significant bit of the first byte,
// as in Redis. The package does not allocate.
//
// Positions are in bits. A range includes its first and its last bit, which must be within the bytes; if
// first is above last, the range is empty.
//
// This package is internal to zlimit: it may change in any release.
package bitmap

import (
	"encoding/binary"
	"math/bits"
)

// Size returns the number of bytes of the shortest string that contains the given bit.
func Size(bit int64) int { return int(bit>>3) + 1 }

// Bit returns a bit, 0 past the end.
func Bit(b []byte, at int64) int64 { return int64(Uint(b, at, 1)) }

// Count returns the number of set bits in a range.
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

// Find returns the position of the first bit in a range that equals wanted, 0 or 1, or -1 if there is none.
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

// edges returns the masks of a range's bits in its first and in its last byte.
func edges(first, last int64) (head, tail byte) { return 0xff >> (first & 7), 0xff << (7 - last&7) }

// within returns the position of the first set bit of c, byte i, which must not be 0.
func within(i int64, c byte) int64 { return i<<3 + int64(bits.LeadingZeros8(c)) }

// And sets dst to dst AND src. src is padded with zeros and must not be longer than dst; they must not
// overlap.
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

// Or is And for OR.
func Or(dst, src []byte) {
	for i := range len(src) / 8 {
		put(dst, i, word(dst, i)|word(src, i))
	}
	for i := len(src) &^ 7; i < len(src); i++ {
		dst[i] |= src[i]
	}
}

// Xor is And for XOR.
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
