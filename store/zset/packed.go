package zset

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// packed is the encoding of a small tree: the entries in order in one byte string, searched from its start. A
// limiter's key with some unique members takes two allocations and a fraction of the memory of nodes, table
// and leaves, and adding or removing a hit does not allocate.
//
// An entry is
//
//	form    a byte: 1 if prefixed, + 2 if the score is raw, + 4 * bytes of the score
//	size    of the member's bytes below, LEB128
//	score   integer: zigzag, in as few bytes as possible; raw: the eight bytes of the float64
//	member  without the score's decimal at its beginning, if prefixed
//
// Limiters mostly write members made of the score and a random suffix ("1700000000123-9f86d081").
type packed struct {
	data      []byte
	last      uint16 // position of the last entry, or unknownPos
	longest   uint16 // longest member added since the last NoteEncoding
	n         uint8
	irregular bool // some member's leading number is not its score
}

// A set of more than packedEntries members or packedBytes bytes becomes a tree for good. Redis has the same
// limit of entries for a listpack, which is searched in the same way. Long members are cheap to skip but
// expensive to move.
const (
	packedEntries = 128
	packedBytes   = 6144
	unknownPos    = math.MaxUint16
)

const (
	formPrefixed = 1 << iota
	formRaw
	formSize = iota // the bits above are the number of bytes of the score
)

// A cell is a decoded entry. tail is part of the set's data: it is valid until the set changes.
type cell struct {
	score    float64
	tail     []byte
	prefixed bool
}

func newCell(member []byte, score float64) cell {
	if v, ok := exactInt(score); ok {
		var b [maxDigits + 3]byte
		if tail, ok := bytes.CutPrefix(member, strconv.AppendInt(b[:0], v, 10)); ok {
			return cell{score, tail, true}
		}
	}
	return cell{score, member, false}
}

// exactInt returns a score as an integer, if it is one within the range of a log.
func exactInt(score float64) (int64, bool) {
	v := int64(score)
	return v, float64(v) == score && v >= -maxNumber && v <= maxNumber && (v != 0 || !math.Signbit(score))
}

// leadingNumber returns the number that a member begins with, up to its first byte that is not a digit. It is
// the only score that the member can have in a packed that is not irregular.
func leadingNumber(member []byte) (int64, bool) {
	n := 0
	if n < len(member) && member[n] == '-' {
		n++
	}
	for n < len(member) && member[n]-'0' <= 9 {
		n++
	}
	return parseNumber(member[:n])
}

// regular reports whether the member's leading number is its score.
func (c cell) regular() bool { return c.prefixed && (len(c.tail) == 0 || c.tail[0]-'0' > 9) }

func (c cell) is(member []byte) bool {
	if !c.prefixed {
		return string(c.tail) == string(member)
	}
	n := len(member) - len(c.tail)
	if n <= 0 || string(member[n:]) != string(c.tail) {
		return false
	}
	v, ok := parseNumber(member[:n])
	return ok && v == int64(c.score)
}

// after reports whether c sorts after d.
func (c cell) after(d cell) bool {
	switch {
	case c.score != d.score:
		return c.score > d.score
	case c.prefixed == d.prefixed:
		return bytes.Compare(c.tail, d.tail) > 0
	}
	// Only one of them begins with the score, so comparing that prefix decides.
	var b [maxDigits + 3]byte
	digits := strconv.AppendInt(b[:0], int64(c.score), 10)
	if c.prefixed {
		return bytes.Compare(digits, d.tail) > 0
	}
	return bytes.Compare(c.tail, digits) > 0
}

func (c cell) appendMember(b []byte) []byte {
	if c.prefixed {
		b = strconv.AppendInt(b, int64(c.score), 10)
	}
	return append(b, c.tail...)
}

func (c cell) encode(b []byte) []byte {
	form, bits := byte(formRaw), math.Float64bits(c.score)
	if v, ok := exactInt(c.score); ok {
		form, bits = 0, uint64(v)<<1^uint64(v>>63)
	}
	if c.prefixed {
		form |= formPrefixed
	}
	n := 8
	if form&formRaw == 0 {
		n = byteLen(bits)
	}
	b = appendUvarint(append(b, form|byte(n<<formSize)), uint64(len(c.tail)))
	for range n {
		b = append(b, byte(bits))
		bits >>= 8
	}
	return append(b, c.tail...)
}

func byteLen(v uint64) int { return (bits.Len64(v) + 7) / 8 }

func (c cell) size() int {
	var b [1 + maxToken + 8]byte
	n := len(cell{c.score, nil, c.prefixed}.encode(b[:0])) - 1
	return n + len(appendUvarint(b[:0], uint64(len(c.tail)))) + len(c.tail)
}

// layout returns the form of the entry at pos, and the positions of its score, its tail and the next entry.
func (p *packed) layout(pos int) (form byte, score, tail, next int) {
	form = p.data[pos]
	size, score := uint64(p.data[pos+1]), pos+2
	if size >= 0x80 {
		size, score = uvarint(p.data, pos+1)
	}
	tail = score + int(form>>formSize)
	return form, score, tail, tail + int(size)
}

// scoreAt decodes the score in data[from:to].
func (p *packed) scoreAt(form byte, from, to int) float64 {
	var v uint64
	if from+8 <= len(p.data) {
		v = binary.LittleEndian.Uint64(p.data[from:]) & (1<<(8*uint(to-from)) - 1)
	} else {
		for i := to - 1; i >= from; i-- {
			v = v<<8 | uint64(p.data[i])
		}
	}
	if form&formRaw != 0 {
		return math.Float64frombits(v)
	}
	return float64(int64(v>>1) ^ -int64(v&1))
}

// read returns the entry at pos and the position after it.
func (p *packed) read(pos int) (c cell, next int) {
	form, score, tail, next := p.layout(pos)
	return cell{p.scoreAt(form, score, tail), p.data[tail:next], form&formPrefixed != 0}, next
}

// entry is read with a copy of the member.
func (p *packed) entry(pos int) (Entry, int) {
	c, next := p.read(pos)
	var buf [64]byte
	return Entry{Score: c.score, member: string(c.appendMember(buf[:0]))}, next
}

// find returns the start and end of member's entry, its rank and its score.
func (p *packed) find(member []byte) (pos, end, rank int, score float64, ok bool) {
	for ; pos < len(p.data); rank++ {
		form, at, tail, next := p.layout(pos)
		// The last byte differs for nearly all members.
		n := len(member) - (next - tail)
		if n >= 0 && (next == tail || p.data[next-1] == member[len(member)-1]) {
			c := cell{p.scoreAt(form, at, tail), p.data[tail:next], form&formPrefixed != 0}
			if c.is(member) {
				return pos, next, rank, c.score, true
			}
		}
		pos = next
	}
	return 0, 0, 0, 0, false
}

// lastPos returns the position of the last entry; there must be one.
func (p *packed) lastPos() int {
	if p.last == unknownPos {
		p.last = uint16(p.seek(int(p.n) - 1))
	}
	return int(p.last)
}

// seek returns the position of the entry with this rank, or the end.
func (p *packed) seek(rank int) int {
	pos := 0
	for ; rank > 0; rank-- {
		pos = p.skip(pos)
	}
	return pos
}

func (p *packed) skip(pos int) int {
	_, _, _, next := p.layout(pos)
	return next
}

func (p *packed) score(member []byte) (float64, bool) {
	_, _, _, score, ok := p.find(member)
	return score, ok
}

func (p *packed) rank(member []byte) (int, bool) {
	_, _, rank, _, ok := p.find(member)
	return rank, ok
}

// add is Set.Add, unless the member does not fit: then it changes nothing and fits is false.
func (p *packed) add(member []byte, score float64) (old float64, existed, fits bool) {
	c := newCell(member, score)
	sortsLast := false // c sorts after every entry
	if p.n > 0 {
		last, _ := p.read(p.lastPos())
		sortsLast = c.after(last)
		v, ok := leadingNumber(member)
		if !p.irregular && sortsLast && (!ok || float64(v) > last.score || float64(v) == c.score) {
			return 0, false, p.tryInsert(len(p.data), c, member) // what limiters do: member cannot exist
		}
	}
	start, end, _, old, existed := p.find(member)
	if existed && old == score {
		return old, true, true
	}
	pos := len(p.data)
	if !sortsLast {
		pos = p.insertPos(c)
	}
	if !existed {
		return 0, false, p.tryInsert(pos, c, member)
	}
	size := c.size()
	if len(p.data)-(end-start)+size > packedBytes {
		return 0, false, false
	}
	p.cut(start, end)
	if pos > start {
		pos -= end - start
	}
	p.insert(pos, c, size)
	return old, true, true
}

// tryInsert inserts an entry that does not exist, if it fits.
func (p *packed) tryInsert(pos int, c cell, member []byte) (fits bool) {
	size := c.size()
	if p.n >= packedEntries || len(p.data)+size > packedBytes {
		return false
	}
	p.n++
	p.longest = max(p.longest, uint16(len(member)))
	p.insert(pos, c, size)
	return true
}

// insertPos returns the position of the first entry that sorts after c.
func (p *packed) insertPos(c cell) (pos int) {
	for pos < len(p.data) {
		d, next := p.read(pos)
		if d.after(c) {
			break
		}
		pos = next
	}
	return pos
}

// insert inserts an entry of this size at pos; the caller updates n.
func (p *packed) insert(pos int, c cell, size int) {
	p.irregular = p.irregular || !c.regular()
	if need := len(p.data) + size; need > cap(p.data) {
		// A quarter of slack, not a half: there are many of these.
		p.data = append(slices.Grow([]byte(nil), need+need/4), p.data...)
	}
	switch {
	case pos == len(p.data):
		p.last = uint16(pos)
	case p.last != unknownPos:
		p.last += uint16(size)
	}
	p.data = p.data[:len(p.data)+size]
	copy(p.data[pos+size:], p.data[pos:])
	c.encode(p.data[pos:pos:cap(p.data)])
}

// cut deletes data[from:to]; the caller updates n.
func (p *packed) cut(from, to int) {
	switch {
	case to == len(p.data):
		p.last = unknownPos
	case p.last != unknownPos:
		p.last -= uint16(to - from)
	}
	p.data = slices.Delete(p.data, from, to)
}

func (p *packed) remove(member []byte) (float64, bool) {
	pos, end, _, score, ok := p.find(member)
	if ok {
		p.cut(pos, end)
		p.n--
		p.shrink()
	}
	return score, ok
}

func (p *packed) removeRanks(start, stop int) {
	from := p.seek(start)
	to := from
	if stop == int(p.n) {
		to = len(p.data)
	} else {
		for range stop - start {
			to = p.skip(to)
		}
	}
	p.cut(from, to)
	p.n -= uint8(stop - start)
	p.shrink()
}

// shrink halves data that is three quarters empty.
func (p *packed) shrink() {
	if cap(p.data) > 128 && len(p.data) <= cap(p.data)/4 {
		p.data = append(slices.Grow([]byte(nil), max(2*len(p.data), 96)), p.data...)
	}
}

// countBelow returns the number of scores below score, or, if through, of at most score.
func (p *packed) countBelow(score float64, through bool) (n int) {
	for pos := 0; pos < len(p.data); n++ {
		c, next := p.read(pos)
		if c.score > score || c.score == score && !through {
			break
		}
		pos = next
	}
	return n
}

func (p *packed) at(rank int) Entry {
	e, _ := p.entry(p.seek(rank))
	return e
}

func (p *packed) ascend(rank int, fn func(Entry) bool) {
	for pos := p.seek(rank); pos < len(p.data); {
		e, next := p.entry(pos)
		if !fn(e) {
			return
		}
		pos = next
	}
}

func (p *packed) descend(rank int, fn func(Entry) bool) {
	var starts [packedEntries]uint16
	pos := 0
	for i := range rank + 1 {
		starts[i] = uint16(pos)
		pos = p.skip(pos)
	}
	for ; rank >= 0; rank-- {
		if e, _ := p.entry(int(starts[rank])); !fn(e) {
			return
		}
	}
}
