package zset

import "math"

// This file is the log encoding on top of its blocks: the one block of a small set, stored in the Set
// (log_block.go), or the directory of several (log_blocks.go).

// Oldest returns the lowest score. The set must be a log and not empty.
func (s *Set) Oldest() int64 { return s.first }

// Newest returns the highest score. The set must be a log and not empty.
func (s *Set) Newest() int64 { return s.last() }

// AppendRun appends plain entries with the n consecutive scores from first on. first must be above Newest if
// the set is not empty, n at least 1, and all scores within 2^53 of zero. The set must be a log without
// weighted entries. The cost does not depend on n.
func (s *Set) AppendRun(first int64, n int) {
	if n < 1 || first < -maxNumber || first > maxNumber || int64(n)-1 > maxNumber-first {
		panic("zset: run outside of what a log holds")
	}
	if !s.IsLog() || s.hasWeights() || s.Len() > 0 && first <= s.last() {
		panic("zset: run does not follow the log")
	}
	s.logAppend(span{first: first, n: int64(n)})
}

// DropThrough removes the entries with a score of at most the given one and returns their number. The set
// must be a log.
func (s *Set) DropThrough(score int64) int {
	n := s.countThrough(score)
	if n > 0 {
		s.logDrop(n)
	}
	return int(n)
}

func (s *Set) countThrough(score int64) int64 {
	if score == math.MaxInt64 {
		return int64(s.Len())
	}
	return s.countBelow(score + 1)
}

func (s *Set) countBelow(score int64) int64 {
	switch n := int64(s.Len()); {
	case n == 0 || score <= s.first:
		return 0
	case score > s.last():
		return n
	}
	below, _ := s.logSeek(score)
	return below
}

func (s *Set) logRank(score int64) (rank int64, ok bool) {
	n := int64(s.Len())
	switch {
	case n == 0 || score < s.first || score > s.last():
		return 0, false
	case score == s.first:
		return 0, true
	case score == s.last():
		return n - 1, true
	}
	return s.logSeek(score)
}

// logSeek returns the number of entries below score, which is between the log's ends, and whether score is in
// the log.
func (s *Set) logSeek(score int64) (below int64, found bool) {
	if s.kind == kindBlock {
		return seek(s.first, s.tokens(), score)
	}
	return s.blocks().seek(score)
}

func (s *Set) logAt(rank int64) int64 {
	if rank == 0 {
		return s.first
	}
	if s.kind == kindBlock {
		return nth(s.first, s.tokens(), rank)
	}
	return s.blocks().at(rank)
}

// logInsert adds a score that is not in the log, with its units, 0 for a plain entry. It reports whether such
// an entry can be one of the log.
func (s *Set) logInsert(score, units int64) bool {
	if !s.logPlace(score, units) {
		return false
	}
	extra := max(units-1, 0)
	if s.Len() == 0 || score > s.last() {
		s.logAppend(span{score, 1, extra})
		return true
	}
	s.flags |= flagAdded
	if s.kind == kindBlock {
		s.insertInBlock(score, extra)
	} else {
		s.blocks().insert(score, extra)
		s.syncBlocks()
	}
	return true
}

// logAppend adds a run above the log's last score.
func (s *Set) logAppend(r span) {
	s.flags |= flagAdded
	if s.kind == kindBlock {
		s.appendToBlock(r)
		return
	}
	s.tail = s.blocks().append(r, s.tail)
}

// logDrop removes the n lowest entries; n is at least 1.
func (s *Set) logDrop(n int64) {
	switch {
	case n == int64(s.Len()):
		s.clear()
	case s.kind == kindBlock:
		s.dropFromBlock(n)
	default:
		b := s.blocks()
		s.tail = b.drop(n, s.tail)
		s.first = b.list[b.head].first
		if b.head == len(b.list)-1 && b.list[b.head].used <= blockSize/2 {
			s.syncBlocks()
		}
	}
}

// logRemove removes the entries with ranks in [start, stop).
func (s *Set) logRemove(start, stop int64) {
	switch {
	case start == 0:
		s.logDrop(stop)
		return
	case s.kind == kindBlock:
		s.removeFromBlock(start, stop)
	default:
		s.blocks().remove(start, stop)
		s.syncBlocks()
	}
	s.endWeights()
}

// clear empties a log. A limiter may do this on every call and then add one unit, so a small buffer is kept.
func (s *Set) clear() {
	if s.kind != kindBlock || len(s.buf()) > keepBuf {
		s.setBuf(nil, 0)
	}
	*s = Set{body: s.body, flags: s.flags &^ flagWeighted}
}

// syncBlocks updates the Set after a change anywhere in its blocks, and moves a last small block back into
// the Set.
func (s *Set) syncBlocks() {
	b := s.blocks()
	s.first = b.list[b.head].first
	end := &b.list[len(b.list)-1]
	last, tok := lastScore(end.first, end.tokens())
	b.last, s.tail = last, uint8(tok)
	if b.head == len(b.list)-1 && end.used <= blockSize/2 && b.len() <= math.MaxUint32 {
		turn := b.turn()
		s.kind, s.n = kindBlock, uint32(b.len())
		s.setBuf(nil, 0)
		if end.used > 0 || s.hasWeights() {
			s.newBuf(int(end.used))
		}
		s.used = uint8(copy(s.buf(), end.tokens()))
		s.setLast(last)
		if s.hasWeights() {
			s.setTurn(turn)
		}
	}
}

// logAscend calls fn with each entry from rank upwards until fn returns false.
func (s *Set) logAscend(rank int64, fn func(Entry) bool) {
	if rank >= int64(s.Len()) {
		return
	}
	if s.kind == kindBlock {
		ascendTokens(s.first, s.tokens(), s.turn(), rank, fn)
		return
	}
	s.blocks().ascend(rank, fn)
}

// logDescend calls fn with each entry from rank, which must exist, downwards until fn returns false.
func (s *Set) logDescend(rank int64, fn func(Entry) bool) {
	if s.kind == kindBlock {
		descendTokens(s.first, s.tokens(), s.turn(), rank, fn)
		return
	}
	s.blocks().descend(rank, fn)
}

// ascendTokens is logAscend within one block. It returns false if fn did.
func ascendTokens(first int64, toks []byte, turn, rank int64, fn func(Entry) bool) bool {
	w := newRunIter(first, toks)
	for rank >= w.run.n {
		rank -= w.run.n
		w.next()
	}
	for {
		for v := w.run.first + rank; v <= w.run.last(); v++ {
			if !fn(makeEntry(v, w.run.extra, turn)) {
				return false
			}
		}
		rank = 0
		if !w.next() {
			return true
		}
	}
}

// descendTokens is logDescend within one block. It returns false if fn did.
func descendTokens(first int64, toks []byte, turn, rank int64, fn func(Entry) bool) bool {
	var scratch [blockSize + 2]span
	spans := appendSpans(scratch[:0], first, toks)
	left := rank + 1
	for i, r := range spans {
		if left <= r.n {
			spans, spans[i].n = spans[:i+1], left
			break
		}
		left -= r.n
	}
	for i := len(spans) - 1; i >= 0; i-- {
		for v := spans[i].last(); v >= spans[i].first; v-- {
			if !fn(makeEntry(v, spans[i].extra, turn)) {
				return false
			}
		}
	}
	return true
}
