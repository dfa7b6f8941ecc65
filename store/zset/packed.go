package zset

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// packed is what a tree is while it is small: the entries in order in one
// string of bytes, searched from its start. A limiter's key with a few unique
// members takes two allocations and about a quarter of the memory that nodes,
// table and leaves would, and hits come and go without allocating.
//
// An entry is its score (eight bytes, the float64's bits), the length of its
// member as a LEB128 number, and the member.
type packed struct {
	data    []byte
	n       int32
	longest int32 // longest member since NoteEncoding looked
}

// A set of more than packedEntries members or packedBytes bytes is a tree, and
// stays one. At 32 entries the walk through all of them that adding one takes
// costs about what a tree does; longer members are cheap to pass over but dear
// to move.
const (
	packedEntries = 32
	packedBytes   = 2048
)

// read returns the entry at pos and the position after it. The member is part
// of the data: it is good until the set changes.
func (p *packed) read(pos int) (score float64, member []byte, next int) {
	score = math.Float64frombits(binary.LittleEndian.Uint64(p.data[pos:]))
	size, pos := uvarint(p.data, pos+8)
	next = pos + int(size)
	return score, p.data[pos:next], next
}

// entry is read for those outside, who may keep what they get.
func (p *packed) entry(pos int) (Entry, int) {
	score, member, next := p.read(pos)
	return Entry{Score: score, member: string(member)}, next
}

// find returns where member stands, its rank and its score.
func (p *packed) find(member []byte) (pos, rank int, score float64, ok bool) {
	for pos < len(p.data) {
		score, m, next := p.read(pos)
		if string(m) == string(member) {
			return pos, rank, score, true
		}
		pos = next
		rank++
	}
	return 0, 0, 0, false
}

// seek returns the position of the entry with this rank, or the end.
func (p *packed) seek(rank int) int {
	pos := 0
	for ; rank > 0; rank-- {
		_, _, pos = p.read(pos)
	}
	return pos
}

func (p *packed) score(member []byte) (float64, bool) {
	_, _, score, ok := p.find(member)
	return score, ok
}

func (p *packed) rank(member []byte) (int, bool) {
	_, rank, _, ok := p.find(member)
	return rank, ok
}

// add is Set.Add, unless it reports that the member has no room: then nothing
// has changed.
func (p *packed) add(member []byte, score float64) (old float64, existed, room bool) {
	place := -1 // of the first entry that belongs behind the new one
	for pos := 0; pos < len(p.data); {
		s, m, next := p.read(pos)
		if string(m) == string(member) {
			if s != score {
				p.cut(pos, next)
				p.insert(p.place(member, score), member, score)
			}
			return s, true, true
		}
		if place < 0 && (s > score || s == score && bytes.Compare(m, member) > 0) {
			place = pos
		}
		pos = next
	}
	if p.n >= packedEntries || len(member) > packedBytes || len(p.data)+entrySize(member) > packedBytes {
		return 0, false, false
	}
	if place < 0 {
		place = len(p.data)
	}
	p.insert(place, member, score)
	p.n++
	p.longest = max(p.longest, int32(len(member)))
	return 0, false, true
}

// place returns the position of the first entry that belongs behind a member,
// which is not held, with this score.
func (p *packed) place(member []byte, score float64) (pos int) {
	for pos < len(p.data) {
		s, m, next := p.read(pos)
		if s > score || s == score && bytes.Compare(m, member) > 0 {
			break
		}
		pos = next
	}
	return pos
}

// entrySize is what a member takes with its score and length.
func entrySize(member []byte) int {
	var b [maxToken + 2]byte
	return 8 + len(putUvarint(b[:0], uint64(len(member)))) + len(member)
}

// insert puts in an entry at its place; the caller counts it.
func (p *packed) insert(pos int, member []byte, score float64) {
	size := entrySize(member)
	if need := len(p.data) + size; need > cap(p.data) {
		// A quarter of slack, not a half: there are many of these.
		p.data = append(slices.Grow([]byte(nil), need+need/4), p.data...)
	}
	p.data = p.data[:len(p.data)+size]
	copy(p.data[pos+size:], p.data[pos:])
	at := p.data[pos:pos:cap(p.data)]
	at = binary.LittleEndian.AppendUint64(at, math.Float64bits(score))
	at = putUvarint(at, uint64(len(member)))
	_ = append(at, member...)
}

// cut removes the bytes from one position up to another; the caller counts.
func (p *packed) cut(from, to int) {
	p.data = slices.Delete(p.data, from, to)
}

func (p *packed) remove(member []byte) (float64, bool) {
	pos, _, score, ok := p.find(member)
	if ok {
		p.cut(pos, pos+entrySize(member))
		p.n--
		p.shrink()
	}
	return score, ok
}

func (p *packed) removeRanks(start, stop int) {
	from := p.seek(start)
	to := from
	for range stop - start {
		_, _, to = p.read(to)
	}
	p.cut(from, to)
	p.n -= int32(stop - start)
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
		s, _, next := p.read(pos)
		if s > score || s == score && !through {
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
	var starts [packedEntries]int
	pos := 0
	for i := range rank + 1 {
		starts[i] = pos
		_, _, pos = p.read(pos)
	}
	for ; rank >= 0; rank-- {
		if e, _ := p.entry(starts[rank]); !fn(e) {
			return
		}
	}
}
