package zset

import (
	"math"
	"unsafe"
)

// A log of one block is stored in the Set itself: first, the number of units, and a buffer that grows through
// the allocator's size classes up to the size of a block. The buffer starts with the last score, followed by
// the tokens. A set of one hit has no buffer: its first score is also its last.

// bufSizes are the token capacities of the buffer, by the size class in flags.
var bufSizes = [...]uint8{0, 8, 16, 24, 40, 56, 88, maxBuf}

const (
	scoreSize = int(unsafe.Sizeof(int64(0)))
	maxBuf    = blockSize - uint8(scoreSize)
	// keepBuf is the capacity that is never shrunk: it would soon be needed again.
	keepBuf = 24
)

// buf returns the whole buffer for tokens.
func (s *Set) buf() []byte {
	if s.body == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(s.body, scoreSize)), bufSizes[s.flags>>bufShift])
}

func (s *Set) tokens() []byte { return s.buf()[:s.used] }

// last returns the highest score of a log, which must not be empty.
func (s *Set) last() int64 {
	switch {
	case s.kind == kindBlocks:
		return s.blocks().last
	case s.body != nil:
		return *(*int64)(s.body)
	}
	return s.first
}

// setLast sets the highest score; without a buffer that is first.
func (s *Set) setLast(score int64) {
	switch {
	case s.kind == kindBlocks:
		s.blocks().last = score
	case s.body != nil:
		*(*int64)(s.body) = score
	}
}

// resizeBuf moves the buffer to one of at least size bytes.
func (s *Set) resizeBuf(size int) {
	last, toks := s.last(), s.tokens()
	class := uint8(1)
	for int(bufSizes[class]) < size {
		class++
	}
	array := make([]int64, 1+int(bufSizes[class])/scoreSize)
	s.setBuf(unsafe.Pointer(unsafe.SliceData(array)), class)
	s.setLast(last)
	copy(s.buf(), toks)
}

func (s *Set) setBuf(array unsafe.Pointer, class uint8) {
	s.body = array
	s.flags = s.flags&(1<<bufShift-1) | class<<bufShift
}

// shrink halves a buffer that is three quarters empty.
func (s *Set) shrink() {
	if size := len(s.buf()); size > keepBuf && 4*int(s.used) <= size {
		s.resizeBuf(max(2*int(s.used), keepBuf))
	}
}

// tailTokens appends to buf the tokens that append r to a block with the tokens toks, the last score last and
// the last run token at tail. They belong at position at; run is the new position of the last run token.
func tailTokens(buf, toks []byte, tail int, last int64, r span) (out []byte, at, run int) {
	if r.first == last+1 {
		more := uint64(r.n)
		if tail < len(toks) {
			had, _ := uvarint(toks, tail+1)
			more += had
		}
		return appendUvarint(append(buf, 0), more), tail, tail
	}
	buf = appendUvarint(buf, uint64(r.first-last)-1)
	run = len(toks) + len(buf)
	if r.n > 1 {
		buf = appendUvarint(append(buf, 0), uint64(r.n)-1)
	}
	return buf, len(toks), run
}

func (s *Set) appendToBlock(r span) {
	if r.n > math.MaxUint32-int64(s.n) {
		if s.n == 0 {
			s.first = r.first
		}
		s.convertToBlocks()
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
	if end > len(s.buf()) {
		if end > int(maxBuf) {
			s.convertToBlocks()
			s.logAppend(r)
			return
		}
		s.resizeBuf(end)
	}
	copy(s.buf()[at:], out)
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

func (s *Set) insertInBlock(score int64) {
	var scratch [blockSize + 4]span
	s.setSpans(insertSpan(appendSpans(scratch[:0], s.first, s.tokens()), score), int64(s.n)+1)
}

// removeFromBlock removes the units with ranks in [start, stop); start is at least 1.
func (s *Set) removeFromBlock(start, stop int64) {
	var scratch [blockSize + 4]span
	spans := appendSpans(scratch[:0], s.first, s.tokens())
	s.setSpans(deleteRanks(spans, start, stop), int64(s.n)-(stop-start))
}

// setSpans rewrites the log of one block, which has n units now.
func (s *Set) setSpans(spans []span, n int64) {
	var scratch [tokenScratch]byte
	toks, written := writeSpans(scratch[:0], spans, int(maxBuf))
	if written < len(spans) || n > math.MaxUint32 {
		b := &logBlocks{end: n}
		b.list = make([]logBlock, 1, 2)
		b.rewrite(0, spans)
		s.kind, s.body, s.n, s.used = kindBlocks, unsafe.Pointer(b), 0, 0
		s.syncBlocks()
		return
	}
	if len(toks) > len(s.buf()) {
		s.resizeBuf(len(toks))
	}
	copy(s.buf(), toks)
	s.n, s.used = uint32(n), uint8(len(toks))
	s.first = spans[0].first
	last, tok := lastScore(s.first, toks)
	s.tail = uint8(tok)
	s.setLast(last)
	s.shrink()
}

func (s *Set) convertToBlocks() {
	b := &logBlocks{last: s.last()}
	if s.n > 0 {
		data := new([blockSize]byte)
		copy(data[:], s.tokens())
		b.list = make([]logBlock, 1, 2)
		b.list[0] = logBlock{first: s.first, data: data, used: s.used}
		b.end = int64(s.n)
	}
	s.kind, s.body, s.n, s.used = kindBlocks, unsafe.Pointer(b), 0, 0
}
