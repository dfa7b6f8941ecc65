package zset

import (
	"math"
	"unsafe"
)

// A log of one block lives in the Set itself: first, the number of units, and an
// array that grows, through sizes of the allocator, up to that of a block. The
// array begins with the last score, the tokens stand behind it. A set of one hit
// has no array: its first score is the last one, too.

// rooms are the bytes for tokens in the array, by the number in flags.
var rooms = [...]uint8{0, 8, 16, 24, 40, 56, 88, largestRoom}

const (
	scoreSize   = int(unsafe.Sizeof(int64(0)))
	largestRoom = blockSize - uint8(scoreSize)
	// keepRoom is the room that is kept however little it holds: one like it
	// would soon be needed again.
	keepRoom = 24
)

// room returns the place for tokens, whole.
func (s *Set) room() []byte {
	if s.rest == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(s.rest, scoreSize)), rooms[s.flags>>roomShift])
}

// tokens returns the tokens in use.
func (s *Set) tokens() []byte { return s.room()[:s.used] }

// last returns the highest score of a log that is not empty.
func (s *Set) last() int64 {
	switch {
	case s.kind == kindBlocks:
		return s.blocks().last
	case s.rest != nil:
		return *(*int64)(s.rest)
	}
	return s.first
}

// setLast sets what last returns; without an array that is first.
func (s *Set) setLast(score int64) {
	switch {
	case s.kind == kindBlocks:
		s.blocks().last = score
	case s.rest != nil:
		*(*int64)(s.rest) = score
	}
}

// setRoom moves what the array holds to one with room for at least size bytes.
func (s *Set) setRoom(size int) {
	last, toks := s.last(), s.tokens()
	number := uint8(1)
	for int(rooms[number]) < size {
		number++
	}
	array := make([]int64, 1+int(rooms[number])/scoreSize)
	s.takeRoom(unsafe.Pointer(unsafe.SliceData(array)), number)
	s.setLast(last)
	copy(s.room(), toks)
}

// takeRoom makes an array, of the size with this number, the Set's own.
func (s *Set) takeRoom(array unsafe.Pointer, number uint8) {
	s.rest = array
	s.flags = s.flags&(1<<roomShift-1) | number<<roomShift
}

// shrink gives back an array that is three quarters empty.
func (s *Set) shrink() {
	if room := len(s.room()); room > keepRoom && 4*int(s.used) <= room {
		s.setRoom(max(2*int(s.used), keepRoom))
	}
}

// tailTokens writes to buf the tokens that append r to a block whose tokens are
// toks, last score last and last run token at tail. They belong at position at;
// run is where they place the run token of the new last score.
func tailTokens(buf, toks []byte, tail int, last int64, r span) (out []byte, at, run int) {
	if r.first == last+1 {
		more := uint64(r.n)
		if tail < len(toks) {
			had, _ := uvarint(toks, tail+1)
			more += had
		}
		return putUvarint(append(buf, 0), more), tail, tail
	}
	buf = putUvarint(buf, uint64(r.first-last)-1)
	run = len(toks) + len(buf)
	if r.n > 1 {
		buf = putUvarint(append(buf, 0), uint64(r.n)-1)
	}
	return buf, len(toks), run
}

// appendToBlock adds a run above the last score.
func (s *Set) appendToBlock(r span) {
	if r.n > math.MaxUint32-int64(s.n) {
		if s.n == 0 {
			s.first = r.first
		}
		s.spill()
		s.logAppend(r)
		return
	}
	if s.n == 0 {
		s.first, s.n, s.used, s.tail = r.first, 1, 0, 0
		s.setLast(r.first)
		if r.n == 1 {
			return
		}
		r = span{r.first + 1, r.n - 1}
	}
	var buf [2*maxToken + 2]byte
	out, at, run := tailTokens(buf[:0], s.tokens(), int(s.tail), s.last(), r)
	end := at + len(out)
	if end > len(s.room()) {
		if end > int(largestRoom) {
			s.spill()
			s.logAppend(r)
			return
		}
		s.setRoom(end)
	}
	copy(s.room()[at:], out)
	s.used, s.tail = uint8(end), uint8(run)
	s.n += uint32(r.n)
	s.setLast(r.last())
}

// dropFromBlock removes the n lowest units of more than n.
func (s *Set) dropFromBlock(n int64) {
	first, used := dropFirst(s.first, s.tokens(), n)
	s.first = first
	s.tail = uint8(max(int(s.tail)-int(s.used)+used, 0))
	s.used = uint8(used)
	s.n -= uint32(n)
	s.shrink()
}

// insertInBlock adds a score below the last one.
func (s *Set) insertInBlock(score int64) {
	var scratch [blockSize + 4]span
	s.setSpans(insertSpan(appendSpans(scratch[:0], s.first, s.tokens()), score), int64(s.n)+1)
}

// removeFromBlock removes the units with ranks from start, at least 1, up to,
// not including, stop.
func (s *Set) removeFromBlock(start, stop int64) {
	var scratch [blockSize + 4]span
	s.setSpans(cutSpans(appendSpans(scratch[:0], s.first, s.tokens()), start, stop), int64(s.n)-(stop-start))
}

// setSpans rewrites the whole log of one block, which holds n units now.
func (s *Set) setSpans(spans []span, n int64) {
	var scratch [tokenScratch]byte
	toks, told := writeSpans(scratch[:0], spans, int(largestRoom))
	if told < len(spans) || n > math.MaxUint32 {
		b := &logBlocks{end: n}
		b.list = make([]logBlock, 1, 2)
		b.rewrite(0, spans)
		s.kind, s.rest, s.n, s.used = kindBlocks, unsafe.Pointer(b), 0, 0
		s.settle()
		return
	}
	if len(toks) > len(s.room()) {
		s.setRoom(len(toks))
	}
	copy(s.room(), toks)
	s.n, s.used = uint32(n), uint8(len(toks))
	s.first = spans[0].first
	last, tok := lastOf(s.first, toks)
	s.tail = uint8(tok)
	s.setLast(last)
	s.shrink()
}

// spill turns the Set into a log of several blocks, the first of them what it
// held so far.
func (s *Set) spill() {
	b := &logBlocks{last: s.last()}
	if s.n > 0 {
		data := new([blockSize]byte)
		copy(data[:], s.tokens())
		b.list = make([]logBlock, 1, 2)
		b.list[0] = logBlock{first: s.first, data: data, used: s.used}
		b.end = int64(s.n)
	}
	s.kind, s.rest, s.n, s.used = kindBlocks, unsafe.Pointer(b), 0, 0
}
