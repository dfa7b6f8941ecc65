package zset

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// packed is what a tree is while it is small: the entries in order in one
// string of bytes, searched from its start. A limiter's key with some unique
// members takes two allocations and a fraction of the memory that nodes, table
// and leaves would, and hits come and go without allocating.
//
// An entry is
//
//	form    a byte: 1 if named, + 2 if the score is raw, + 4 * bytes of the score
//	size    of the member's bytes below, LEB128
//	score   the integer, its sign in the lowest bit, in as few bytes as it needs; raw: the float64's eight
//	member  without the score's decimal at its beginning, if named
//
// since what limiters write besides the score itself is mostly the score and
// something random behind it ("1700000000123-9f86d081").
type packed struct {
	data    []byte
	last    uint16 // where the last entry stands; nowhere: not known
	longest uint16 // longest member since NoteEncoding looked
	n       uint8
	loose   bool // a member came that does not tell its own score
}

// A set of more than packedEntries members or packedBytes bytes is a tree, and
// stays one. Redis keeps so many entries in a listpack, which is searched in
// the same way. Long members are cheap to pass over but dear to move.
const (
	packedEntries = 128
	packedBytes   = 6144
	nowhere       = math.MaxUint16
)

const (
	formNamed = 1 << iota
	formRaw
	formSize = iota // the bits above say how many bytes the score takes
)

// cell is one entry as it is written. The tail is part of the data: it is good
// until the set changes.
type cell struct {
	score float64
	tail  []byte
	named bool
}

// cellOf returns how a member with this score is written.
func cellOf(member []byte, score float64) cell {
	if v, ok := exact(score); ok {
		var b [maxDigits + 3]byte
		if tail, ok := bytes.CutPrefix(member, strconv.AppendInt(b[:0], v, 10)); ok {
			return cell{score, tail, true}
		}
	}
	return cell{score, member, false}
}

// exact returns a score as the integer that it is, within what a log holds.
func exact(score float64) (int64, bool) {
	v := int64(score)
	return v, float64(v) == score && v >= -maxNumber && v <= maxNumber && (v != 0 || !math.Signbit(score))
}

// stem returns the number that a member begins with, up to its first byte that
// is no digit: the only score under which a packed that is not loose holds it.
func stem(member []byte) (int64, bool) {
	n := 0
	if n < len(member) && member[n] == '-' {
		n++
	}
	for n < len(member) && member[n]-'0' <= 9 {
		n++
	}
	return parseNumber(member[:n])
}

// tells reports whether the member's stem is its score.
func (c cell) tells() bool { return c.named && (len(c.tail) == 0 || c.tail[0]-'0' > 9) }

// is reports whether the entry's member is this one.
func (c cell) is(member []byte) bool {
	if !c.named {
		return string(c.tail) == string(member)
	}
	n := len(member) - len(c.tail)
	if n <= 0 || string(member[n:]) != string(c.tail) {
		return false
	}
	v, ok := parseNumber(member[:n])
	return ok && v == int64(c.score)
}

// after reports whether the entry belongs behind another.
func (c cell) after(d cell) bool {
	switch {
	case c.score != d.score:
		return c.score > d.score
	case c.named == d.named:
		return bytes.Compare(c.tail, d.tail) > 0
	}
	// Only one begins with the score, so that much of it decides.
	var b [maxDigits + 3]byte
	digits := strconv.AppendInt(b[:0], int64(c.score), 10)
	if c.named {
		return bytes.Compare(digits, d.tail) > 0
	}
	return bytes.Compare(c.tail, digits) > 0
}

// appendMember appends the member's bytes.
func (c cell) appendMember(b []byte) []byte {
	if c.named {
		b = strconv.AppendInt(b, int64(c.score), 10)
	}
	return append(b, c.tail...)
}

// encode writes the entry.
func (c cell) encode(b []byte) []byte {
	form, bits := byte(formRaw), math.Float64bits(c.score)
	if v, ok := exact(c.score); ok {
		form, bits = 0, uint64(v)<<1^uint64(v>>63)
	}
	if c.named {
		form |= formNamed
	}
	n := 8
	if form&formRaw == 0 {
		n = bytesOf(bits)
	}
	b = putUvarint(append(b, form|byte(n<<formSize)), uint64(len(c.tail)))
	for range n {
		b = append(b, byte(bits))
		bits >>= 8
	}
	return append(b, c.tail...)
}

// bytesOf is how many bytes a number needs.
func bytesOf(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// size is what the entry takes.
func (c cell) size() int {
	var b [1 + maxToken + 8]byte
	n := len(cell{c.score, nil, c.named}.encode(b[:0])) - 1
	return n + len(putUvarint(b[:0], uint64(len(c.tail)))) + len(c.tail)
}

// frame reads the form of the entry at pos, and where its score, its tail and
// the next entry begin.
func (p *packed) frame(pos int) (form byte, score, tail, next int) {
	form = p.data[pos]
	size, score := uint64(p.data[pos+1]), pos+2
	if size >= 0x80 {
		size, score = uvarint(p.data, pos+1)
	}
	tail = score + int(form>>formSize)
	return form, score, tail, tail + int(size)
}

// scoreAt reads a score of a form that stands from one position to another.
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
	form, score, tail, next := p.frame(pos)
	return cell{p.scoreAt(form, score, tail), p.data[tail:next], form&formNamed != 0}, next
}

// entry is read for those outside, who may keep what they get.
func (p *packed) entry(pos int) (Entry, int) {
	c, next := p.read(pos)
	var room [64]byte
	return Entry{Score: c.score, member: string(c.appendMember(room[:0]))}, next
}

// find returns where member stands and ends, its rank and its score.
func (p *packed) find(member []byte) (pos, end, rank int, score float64, ok bool) {
	for ; pos < len(p.data); rank++ {
		form, at, tail, next := p.frame(pos)
		// The last byte tells nearly all of them apart.
		if n := len(member) - (next - tail); n >= 0 && (next == tail || p.data[next-1] == member[len(member)-1]) {
			c := cell{p.scoreAt(form, at, tail), p.data[tail:next], form&formNamed != 0}
			if c.is(member) {
				return pos, next, rank, c.score, true
			}
		}
		pos = next
	}
	return 0, 0, 0, 0, false
}

// end returns where the last entry stands; there must be one.
func (p *packed) end() int {
	if p.last == nowhere {
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

// skip returns the position after the entry at pos.
func (p *packed) skip(pos int) int {
	_, _, _, next := p.frame(pos)
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

// add is Set.Add, unless it reports that the member has no room: then nothing
// has changed.
func (p *packed) add(member []byte, score float64) (old float64, existed, room bool) {
	c := cellOf(member, score)
	behind := false // every entry
	if p.n > 0 {
		last, _ := p.read(p.end())
		behind = c.after(last)
		if v, ok := stem(member); !p.loose && behind && (!ok || float64(v) > last.score || float64(v) == c.score) {
			return 0, false, p.put(len(p.data), c, member) // what limiters do: it cannot be held
		}
	}
	was, end, _, old, existed := p.find(member)
	if existed && old == score {
		return old, true, true
	}
	place := len(p.data)
	if !behind {
		place = p.place(c)
	}
	if !existed {
		return 0, false, p.put(place, c, member)
	}
	size := c.size()
	if len(p.data)-(end-was)+size > packedBytes {
		return 0, false, false
	}
	p.cut(was, end)
	if place > was {
		place -= end - was
	}
	p.insert(place, c, size)
	return old, true, true
}

// put inserts an entry that is not held, unless there is no room.
func (p *packed) put(pos int, c cell, member []byte) (room bool) {
	size := c.size()
	if p.n >= packedEntries || len(p.data)+size > packedBytes {
		return false
	}
	p.n++
	p.longest = max(p.longest, uint16(len(member)))
	p.insert(pos, c, size)
	return true
}

// place returns the position of the first entry that belongs behind this one.
func (p *packed) place(c cell) (pos int) {
	for pos < len(p.data) {
		d, next := p.read(pos)
		if d.after(c) {
			break
		}
		pos = next
	}
	return pos
}

// insert puts in an entry of this size at its place; the caller counts it.
func (p *packed) insert(pos int, c cell, size int) {
	p.loose = p.loose || !c.tells()
	if need := len(p.data) + size; need > cap(p.data) {
		// A quarter of slack, not a half: there are many of these.
		p.data = append(slices.Grow([]byte(nil), need+need/4), p.data...)
	}
	switch {
	case pos == len(p.data):
		p.last = uint16(pos)
	case p.last != nowhere:
		p.last += uint16(size)
	}
	p.data = p.data[:len(p.data)+size]
	copy(p.data[pos+size:], p.data[pos:])
	c.encode(p.data[pos:pos:cap(p.data)])
}

// cut removes the bytes from one position up to another; the caller counts.
func (p *packed) cut(from, to int) {
	switch {
	case to == len(p.data):
		p.last = nowhere
	case p.last != nowhere:
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

// shrink gives back room that is three quarters empty.
func (p *packed) shrink() {
	if cap(p.data) > 128 && len(p.data) <= cap(p.data)/4 {
		p.data = append(slices.Grow([]byte(nil), max(2*len(p.data), 96)), p.data...)
	}
}

// countBelow returns how many scores are below score, or, if through, at most
// score.
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
