package zset

import (
	"math"
	"unsafe"
)

// A log of one block is stored in the Set itself: first, the number of entries, and a buffer that grows
// through the allocator's size classes up to the size of a block. The buffer starts with the last score and,
// if the log has weights, the turn, followed by the tokens. A set of one hit has no buffer: its first score
// is also its last.

// bufSizes are the capacities of the buffer behind the last score, by the size class in flags.
var bufSizes = [...]uint8{0, 8, 16, 24, 40, 56, 88, blockSize - uint8(scoreSize)}

const (
	scoreSize = int(unsafe.Sizeof(int64(0)))
	// keepBuf is the capacity that is never shrunk: it would soon be needed again.
	keepBuf = 24
)

// turnSize returns the size of the turn in the buffer.
func (s *Set) turnSize() int { return int(s.flags&flagWeighted) * (scoreSize / flagWeighted) }

// maxBuf returns the largest capacity for tokens.
func (s *Set) maxBuf() int { return blockSize - scoreSize - s.turnSize() }

// buf returns the whole buffer for tokens.
func (s *Set) buf() []byte {
	turn := s.turnSize()
	size := int(bufSizes[s.flags>>bufShift]) - turn
	if size <= 0 { // without an array, or with one that ends here
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(s.body, scoreSize+turn)), size)
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

// resizeBuf moves the buffer to one of at least size bytes for tokens.
func (s *Set) resizeBuf(size int) {
	last, turn, toks := s.last(), s.turn(), s.tokens()
	s.newBuf(size)
	s.setLast(last)
	if s.hasWeights() {
		s.setTurn(turn)
	}
	copy(s.buf(), toks)
}

// newBuf replaces the buffer by an empty one.
func (s *Set) newBuf(size int) {
	size += s.turnSize()
	class := uint8(1)
	for int(bufSizes[class]) < size {
		class++
	}
	array := make([]int64, 1+int(bufSizes[class])/scoreSize)
	s.setBuf(unsafe.Pointer(unsafe.SliceData(array)), class)
}

func (s *Set) setBuf(array unsafe.Pointer, class uint8) {
	s.body = array
	s.flags = s.flags&(1<<bufShift-1) | class<<bufShift
}

// shrink halves a buffer that is three quarters empty.
func (s *Set) shrink() {
	turn := s.turnSize()
	if size := len(s.buf()); size+turn > keepBuf && 4*int(s.used) <= size {
		s.resizeBuf(max(2*int(s.used), keepBuf-turn))
	}
}

// tailTokens appends to buf the tokens that append r to a block with the tokens toks, the last score last and
// the last run token at tail. They belong at position at; run is the new position of the last run token.
func tailTokens(buf, toks []byte, tail int, last int64, r span) (out []byte, at, run int) {
	switch {
	case r.extra > 0:
		buf = spanTokens(buf, r, last, false)
		return buf, len(toks), len(toks) + len(buf)
	case r.first == last+1:
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
	var buf [2*maxToken + 2]byte
	if s.n == 0 {
		s.first, s.n, s.used, s.tail = r.first, 1, 0, 0
		s.setLast(r.first)
		if r.extra > 0 {
			toks := spanTokens(buf[:0], r, 0, true)
			if len(toks) > len(s.buf()) {
				s.resizeBuf(len(toks))
			}
			s.used = uint8(copy(s.buf(), toks))
			s.tail = s.used
			return
		}
		if r.n == 1 {
			return
		}
		r = span{first: r.first + 1, n: r.n - 1}
	}
	out, at, run := tailTokens(buf[:0], s.tokens(), int(s.tail), s.last(), r)
	end := at + len(out)
	if end > len(s.buf()) {
		if end > s.maxBuf() {
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

func (s *Set) insertInBlock(score, extra int64) {
	var scratch [blockSize + 4]span
	s.setSpans(insertSpan(appendSpans(scratch[:0], s.first, s.tokens()), score, extra), int64(s.n)+1)
}

func (s *Set) setExtraInBlock(rank, score, extra int64) {
	var scratch [blockSize + 4]span
	s.setSpans(setExtra(appendSpans(scratch[:0], s.first, s.tokens()), rank, score, extra), int64(s.n))
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
	toks, written := writeSpans(scratch[:0], spans, s.maxBuf())
	if written < len(spans) || n > math.MaxUint32 {
		b := &logBlocks{end: n}
		b.list = make([]logBlock, 1, 2)
		if s.hasWeights() {
			b.weights = &weights{turn: s.turn(), before: make([]int64, 1, 2), end: extraOfSpans(spans)}
		}
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
		if s.hasWeights() {
			extra := extraBelow(s.first, s.tokens(), math.MaxInt64)
			b.weights = &weights{turn: s.turn(), before: make([]int64, 1, 2), end: extra}
		}
	}
	s.kind, s.body, s.n, s.used = kindBlocks, unsafe.Pointer(b), 0, 0
}
