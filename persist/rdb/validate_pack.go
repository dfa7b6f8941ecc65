package rdb

import "encoding/binary"

// This file validates Redis' packed values: the elements of a collection in one string,
// each with its own size.

// An elementEnd returns the end of the element at, or 0 if it is malformed.
type elementEnd func(pack []byte, at, before int) (end int)

// elements validates the elements of a pack, from the end of its header to the end
// byte, and emits pieces. headerCount is the element count in the header, per the number of
// elements that belong together. wrap makes a pack of a part.
func (f *validator) elements(
	pack []byte, header, headerCount, per int, next elementEnd, wrap func(part []byte, n int) piece,
) error {
	last := len(pack) - 1
	n, in := 0, 0
	from, at, before := header, header, header
	for at < last {
		end := next(pack[:last], at, before)
		if end == 0 {
			return corrupt(badElement)
		}
		before, at = at, end
		n, in = n+1, in+1
		if in%per == 0 && (in >= pieceElements || at-from >= pieceBytes || at == last) {
			if f.emit != nil {
				if err := f.emit(wrap(pack[from:at], in)); err != nil {
					return err
				}
			}
			from, in = at, 0
		}
	}
	switch {
	case headerCount != countUnknown && headerCount != n:
		return corrupt(badCount)
	case n == 0:
		return errEmpty
	case in != 0:
		return corrupt(badPairs)
	}
	return nil
}

// listpack validates a listpack. See type listpack for its structure.
func (f *validator) listpack(pack []byte, typ byte, per int) error {
	if !listpackSound(pack) {
		return corrupt(badPack)
	}
	headerCount := int(binary.LittleEndian.Uint16(pack[4:]))
	return f.elements(pack, listpackHeader, headerCount, per, listpackElement,
		func(part []byte, n int) piece {
			var head [listpackHeader]byte
			binary.LittleEndian.PutUint32(head[:], uint32(len(part)+listpackHeader+1))
			binary.LittleEndian.PutUint16(head[4:], uint16(n))
			return piece{typ: typ, head: head[:], body: part, tail: pack[len(pack)-1:]}
		})
}

// listpackSound reports whether the header and the end byte of a listpack are valid.
func listpackSound(pack []byte) bool {
	return len(pack) > listpackHeader && uint64(binary.LittleEndian.Uint32(pack)) == uint64(len(pack)) &&
		pack[len(pack)-1] == packEnd
}

// listpackElement returns the end of the element at.
func listpackElement(b []byte, at, _ int) (end int) {
	left := uint64(len(b) - at)
	var size uint64 // of encoding and content
	switch first := b[at]; {
	case first < lpText6:
		size = 1
	case first < lpInt13:
		size = 1 + uint64(first&maxText6)
	case first < lpText12:
		size = 2
	case first < lpText32:
		if left < 2 {
			return 0
		}
		size = 2 + (uint64(first&0x0f)<<8 | uint64(b[at+1]))
	case first == lpText32:
		if left < 5 {
			return 0
		}
		size = 5 + uint64(binary.LittleEndian.Uint32(b[at+1:]))
	case first == lpInt16:
		size = 3
	case first == lpInt24:
		size = 4
	case first == lpInt32:
		size = 5
	case first == lpInt64:
		size = 9
	default:
		return 0
	}
	var back [5]byte
	want := appendBacklen(back[:0], size)
	if size+uint64(len(want)) > left {
		return 0
	}
	end = at + int(size) + len(want)
	if string(b[end-len(want):end]) != string(want) {
		return 0
	}
	return end
}

// Encodings of a ziplist's elements. Short texts have their length in the low bits of
// the first byte.
const (
	zlText14   = 0x40 // and one more byte
	zlText32   = 0x80 // and four bytes
	zlInt16    = 0xc0
	zlInt32    = 0xd0
	zlInt64    = 0xe0
	zlInt24    = 0xf0
	zlInt4     = 0xf1 // to 0xfd: the number itself, plus one
	zlInt4Last = 0xfd
	zlInt8     = 0xfe
	zlLong     = 0xfe // before an element: four bytes with the length of the previous one follow
)

// ziplist validates a ziplist: a header (total bytes, offset of the last element,
// element count), the elements, an end byte. Each element is the length of the previous
// one, its encoding and its content.
func (f *validator) ziplist(pack []byte, typ byte, per int) error {
	if len(pack) <= ziplistHeader || uint64(binary.LittleEndian.Uint32(pack)) != uint64(len(pack)) ||
		pack[len(pack)-1] != packEnd {
		return corrupt(badPack)
	}
	headerCount, last := int(binary.LittleEndian.Uint16(pack[8:])), ziplistHeader
	next := func(b []byte, at, before int) int {
		last = at
		return ziplistElement(b, at, before)
	}
	err := f.elements(pack, ziplistHeader, headerCount, per, next, func(part []byte, n int) piece {
		var head [ziplistHeader]byte
		binary.LittleEndian.PutUint32(head[:], uint32(len(part)+ziplistHeader+1))
		binary.LittleEndian.PutUint16(head[8:], uint16(n))
		return piece{typ: typ, head: head[:], body: part, tail: pack[len(pack)-1:]}
	})
	if err == nil && int64(binary.LittleEndian.Uint32(pack[4:])) != int64(last) {
		return corrupt(badPack)
	}
	return err
}

// ziplistElement returns the end of the element at, which follows the one at before.
// before equals at for the first.
func ziplistElement(b []byte, at, before int) (end int) {
	pos, previous := at+1, uint64(b[at])
	if previous == zlLong {
		if len(b)-at < 5 {
			return 0
		}
		pos, previous = at+5, uint64(binary.LittleEndian.Uint32(b[at+1:]))
	}
	if previous != uint64(at-before) || pos >= len(b) {
		return 0
	}
	left := uint64(len(b) - pos)
	var size uint64
	switch first := b[pos]; {
	case first < zlText14:
		size = 1 + uint64(first)
	case first < zlText32:
		if left < 2 {
			return 0
		}
		size = 2 + (uint64(first&0x3f)<<8 | uint64(b[pos+1]))
	case first < zlInt16: // the low bits are ignored
		if left < 5 {
			return 0
		}
		size = 5 + uint64(binary.BigEndian.Uint32(b[pos+1:]))
	case first == zlInt16:
		size = 3
	case first == zlInt24:
		size = 4
	case first == zlInt32:
		size = 5
	case first == zlInt64:
		size = 9
	case first == zlInt8:
		size = 2
	case first >= zlInt4 && first <= zlInt4Last:
		size = 1
	default:
		return 0
	}
	if size > left {
		return 0
	}
	return pos + int(size)
}

// intset validates an intset: the width of a number, the count, and the numbers in
// ascending order.
func (f *validator) intset(pack []byte, typ byte, _ int) error {
	const header = intsetHeader
	if len(pack) < header {
		return corrupt(badPack)
	}
	width, n := uint64(binary.LittleEndian.Uint32(pack)), uint64(binary.LittleEndian.Uint32(pack[4:]))
	if width != 2 && width != 4 && width != 8 || uint64(len(pack)-header) != width*n {
		return corrupt(badPack)
	}
	if n == 0 {
		return errEmpty
	}
	body := pack[header:]
	for i := uint64(1); i < n; i++ {
		if intsetAt(body, width, i-1) >= intsetAt(body, width, i) {
			return corrupt(badOrder)
		}
	}
	for len(body) > 0 && f.emit != nil {
		part := body[:min(uint64(len(body)), pieceElements*width)]
		body = body[len(part):]
		var head [header]byte
		binary.LittleEndian.PutUint32(head[:], uint32(width))
		binary.LittleEndian.PutUint32(head[4:], uint32(uint64(len(part))/width))
		if err := f.emit(piece{typ: typ, head: head[:], body: part}); err != nil {
			return err
		}
	}
	return nil
}

func intsetAt(body []byte, width, i uint64) int64 {
	b := body[i*width:]
	switch width {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}
