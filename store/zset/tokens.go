package zset

// A block of a log is its first score and a string of bytes, the tokens, that encode the scores after it in
// ascending order:
//
//	v >= 1           the next score is v+1 above the previous one
//	0, m >= 1        m more scores follow, each one above the previous one
//	0, 0, g, u >= 2  the next score is g above the previous one and stands for u units; with g = 0, which
//	                 only the first token has, the first score does
//
// Numbers are LEB128: seven bits a byte, low ones first. A score without a token of its own stands for one
// unit. A step of one to such a score is always encoded as a run, so a block has only one encoding, except
// that neighbouring blocks may touch (see logBlocks).

// blockSize is the size of the tokens of one block. At the usual two bytes a unit, reading half a block costs
// less than a cache miss, and the block's directory entry of 32 bytes is a quarter of it.
const blockSize = 128

// maxToken is the longest encoding of a number: the range of scores is 2^54 wide.
const maxToken = 8

// uvarint decodes the number at p[pos] and returns it with the position after it.
func uvarint(p []byte, pos int) (v uint64, next int) {
	for shift := uint(0); ; shift += 7 {
		c := p[pos]
		pos++
		v |= uint64(c&0x7f) << (shift & 63)
		if c < 0x80 {
			return v, pos
		}
	}
}

func appendUvarint(p []byte, v uint64) []byte {
	for v >= 0x80 {
		p = append(p, byte(v)|0x80)
		v >>= 7
	}
	return append(p, byte(v))
}

// unitsToken returns the gap and the units of a token of units at pos, with the position after it.
func unitsToken(toks []byte, pos int) (gap, units int64, next int) {
	g, pos := uvarint(toks, pos+2)
	u, pos := uvarint(toks, pos)
	return int64(g), int64(u), pos
}

// hasUnitsToken reports whether a token of units is at pos.
func hasUnitsToken(toks []byte, pos int) bool {
	return pos+1 < len(toks) && toks[pos] == 0 && toks[pos+1] == 0
}

// headUnits returns the units of a block's first score, and the position of the tokens of the others.
func headUnits(toks []byte) (units int64, pos int) {
	if hasUnitsToken(toks, 0) {
		if gap, units, pos := unitsToken(toks, 0); gap == 0 {
			return units, pos
		}
	}
	return 1, 0
}

// A runIter iterates over the spans of one block.
type runIter struct {
	run  span
	toks []byte
	pos  int // after the tokens of run
	tok  int // position of run's run token; pos if it has none
}

func newRunIter(first int64, toks []byte) runIter {
	w := runIter{toks: toks}
	units, pos := headUnits(toks)
	if units > 1 {
		w.run, w.pos, w.tok = span{first: first, n: 1, extra: units - 1}, pos, pos
		return w
	}
	w.readRun(first)
	return w
}

// readRun decodes the run that starts at first; its run token, if any, is at pos.
func (w *runIter) readRun(first int64) {
	w.run = span{first: first, n: 1}
	w.tok = w.pos
	if w.pos < len(w.toks) && w.toks[w.pos] == 0 && !hasUnitsToken(w.toks, w.pos) {
		more, pos := uvarint(w.toks, w.pos+1)
		w.run.n += int64(more)
		w.pos = pos
	}
}

// next advances to the next span and reports whether there is one.
func (w *runIter) next() bool {
	switch last := w.run.last(); {
	case w.pos >= len(w.toks):
		return false
	case hasUnitsToken(w.toks, w.pos):
		gap, units, pos := unitsToken(w.toks, w.pos)
		w.run, w.pos, w.tok = span{first: last + gap, n: 1, extra: units - 1}, pos, pos
	case w.toks[w.pos] == 0: // a run that touches a score with units
		more, pos := uvarint(w.toks, w.pos+1)
		w.run, w.tok, w.pos = span{first: last + 1, n: int64(more)}, w.pos, pos
	default:
		gap, pos := uvarint(w.toks, w.pos)
		w.pos = pos
		w.readRun(last + int64(gap) + 1)
	}
	return true
}

// seek returns how many scores of the block are below score, and whether score is one of them. seek and nth
// decode every token on the way and dominate a lookup, so each has its own loop.
func seek(first int64, toks []byte, score int64) (below int64, found bool) {
	if score <= first {
		return 0, score == first
	}
	last := first // previous score; below is the number of scores before it
	for pos := 0; pos < len(toks); {
		v := uint64(toks[pos])
		pos++
		if v >= 0x80 {
			v, pos = uvarint(toks, pos-1)
		}
		if v == 0 {
			v, pos = uvarint(toks, pos)
			if v != 0 {
				if score <= last+int64(v) {
					return below + score - last, true
				}
				last += int64(v)
				below += int64(v)
				continue
			}
			var gap int64
			if gap, _, pos = unitsToken(toks, pos-2); gap == 0 {
				continue
			}
			v = uint64(gap) - 1
		}
		last += int64(v) + 1
		below++
		if last >= score {
			return below, last == score
		}
	}
	return below + 1, false
}

// nth returns the i-th score of the block, from 0; it must exist.
func nth(first int64, toks []byte, i int64) int64 {
	last := first
	for pos := 0; i > 0; {
		v := uint64(toks[pos])
		pos++
		if v >= 0x80 {
			v, pos = uvarint(toks, pos-1)
		}
		if v == 0 {
			v, pos = uvarint(toks, pos)
			if v != 0 {
				v = min(v, uint64(i))
				last += int64(v)
				i -= int64(v)
				continue
			}
			var gap int64
			if gap, _, pos = unitsToken(toks, pos-2); gap == 0 {
				continue
			}
			v = uint64(gap) - 1
		}
		last += int64(v) + 1
		i--
	}
	return last
}

// extraBelow returns how many units the scores of the block that are below score stand for, beyond one each.
func extraBelow(first int64, toks []byte, score int64) (extra int64) {
	for w := newRunIter(first, toks); ; {
		if w.run.first >= score {
			return extra
		}
		extra += w.run.extra
		if !w.next() {
			return extra
		}
	}
}

// spanOf advances to the span that has a score of the block, and reports whether the block has it.
func spanOf(first int64, toks []byte, score int64) (w runIter, ok bool) {
	w = newRunIter(first, toks)
	for w.run.last() < score {
		if !w.next() {
			return w, false
		}
	}
	return w, w.run.first <= score
}

// overwriteExtra changes how many units a score of the block stands for beyond one, and returns how many
// these were. It does nothing and reports false if the score has no token of units of the same size.
func overwriteExtra(first int64, toks []byte, score, extra int64) (old int64, ok bool) {
	w, ok := spanOf(first, toks, score)
	if !ok || w.run.extra == 0 || extra == 0 {
		return 0, false
	}
	var room [2 * maxToken]byte
	units := appendUvarint(room[:0], uint64(extra)+1)
	if size := len(appendUvarint(room[maxToken:maxToken], uint64(w.run.extra)+1)); size != len(units) {
		return 0, false
	}
	copy(toks[w.pos-len(units):], units)
	return w.run.extra, true
}

// nthUnit returns the score of the i-th unit of the block, from 0; it must exist.
func nthUnit(first int64, toks []byte, i int64) int64 {
	w := newRunIter(first, toks)
	for i >= w.run.n+w.run.extra {
		i -= w.run.n + w.run.extra
		w.next()
	}
	if w.run.extra > 0 {
		return w.run.first
	}
	return w.run.first + i
}

// lastScore returns the block's last score and the position of its run token, or the end of the tokens if it
// is not in a run.
func lastScore(first int64, toks []byte) (last int64, tok int) {
	w := newRunIter(first, toks)
	for w.next() {
	}
	return w.run.last(), w.tok
}

// dropFirst removes the lowest k scores of a block of more than k. It rewrites toks in place and returns the
// new first score and the new length of the tokens, which is never longer.
func dropFirst(first int64, toks []byte, k int64) (int64, int) {
	w := newRunIter(first, toks)
	for k >= w.run.n {
		k -= w.run.n
		w.next()
	}
	r := span{first: w.run.first + k, n: w.run.n - k, extra: w.run.extra}
	used := len(spanTokens(toks[:0], r, 0, true))
	used += copy(toks[used:], toks[w.pos:])
	return r.first, used
}
