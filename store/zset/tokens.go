package zset

// A block of a log is its first score and a string of bytes, the tokens, that encode the scores after it in
// ascending order:
//
//	v >= 1        the next score is v+1 above the previous one
//	0, then m>=1  m more scores follow, each one above the previous one
//
// Numbers are LEB128: seven bits a byte, low ones first. A step of one is always encoded as a run, so a block
// has only one encoding, except that neighbouring blocks may touch (see logBlocks).

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

// A runIter iterates over the runs of one block.
type runIter struct {
	run  span
	toks []byte
	pos  int // after the tokens of run
	tok  int // position of run's run token; pos if it has none
}

func newRunIter(first int64, toks []byte) runIter {
	w := runIter{toks: toks}
	w.readRun(first)
	return w
}

// readRun decodes the run that starts at first; its tokens, if any, are at pos.
func (w *runIter) readRun(first int64) {
	w.run = span{first, 1}
	w.tok = w.pos
	if w.pos < len(w.toks) && w.toks[w.pos] == 0 {
		more, pos := uvarint(w.toks, w.pos+1)
		w.run.n += int64(more)
		w.pos = pos
	}
}

// next advances to the next run and reports whether there is one.
func (w *runIter) next() bool {
	if w.pos >= len(w.toks) {
		return false
	}
	gap, pos := uvarint(w.toks, w.pos)
	w.pos = pos
	w.readRun(w.run.last() + int64(gap) + 1)
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
			if score <= last+int64(v) {
				return below + score - last, true
			}
			last += int64(v)
			below += int64(v)
			continue
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
			v = min(v, uint64(i))
			last += int64(v)
			i -= int64(v)
			continue
		}
		last += int64(v) + 1
		i--
	}
	return last
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
	rest := w.run.n - 1 - k
	used := 0
	if rest > 0 {
		used = len(appendUvarint(append(toks[:0], 0), uint64(rest)))
	}
	used += copy(toks[used:], toks[w.pos:])
	return w.run.first + k, used
}
