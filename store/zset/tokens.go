package zset

// A block of a log is its first score and a string of bytes, the tokens that
// lead from there to the scores after it, upwards:
//
//	v >= 1        the next score is v+1 above the one before
//	0, then m>=1  m further scores follow, each one above the one before
//
// Numbers are LEB128, seven bits a byte, low ones first. A step of one is
// always written as a run, so that there is one way to write a block, except
// that two neighbouring blocks may touch (see logBlocks).

// blockSize is the room for the tokens of one block. At the usual two bytes a
// unit a walk through half a block costs less than a miss of the cache, and
// the block's 32 bytes of directory stay a quarter of it.
const blockSize = 128

// maxToken is the most bytes one number takes: the distance between the two
// ends of the range is 2^54.
const maxToken = 8

// uvarint reads the number at p[pos] and returns it with the position after it.
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

// putUvarint appends v.
func putUvarint(p []byte, v uint64) []byte {
	for v >= 0x80 {
		p = append(p, byte(v)|0x80)
		v >>= 7
	}
	return append(p, byte(v))
}

// walk goes through the runs of one block. next points behind the run that
// was read last.
type walk struct {
	run  span
	toks []byte
	pos  int // behind the tokens of run
	tok  int // where the run token of run stands; pos if it has none
}

// startWalk begins at the run that first opens.
func startWalk(first int64, toks []byte) walk {
	w := walk{toks: toks}
	w.readRun(first)
	return w
}

// readRun reads the run that opens at first; its own tokens, if any, are next.
func (w *walk) readRun(first int64) {
	w.run = span{first, 1}
	w.tok = w.pos
	if w.pos < len(w.toks) && w.toks[w.pos] == 0 {
		more, pos := uvarint(w.toks, w.pos+1)
		w.run.n += int64(more)
		w.pos = pos
	}
}

// next moves to the run after this one and reports whether there is one.
func (w *walk) next() bool {
	if w.pos >= len(w.toks) {
		return false
	}
	gap, pos := uvarint(w.toks, w.pos)
	w.pos = pos
	w.readRun(w.run.last() + int64(gap) + 1)
	return true
}

// seek returns how many scores of the block are below score and whether score
// is one of them. It and nth read every token of a block on the way and are
// what a lookup costs, hence a loop of their own.
func seek(first int64, toks []byte, score int64) (below int64, found bool) {
	if score <= first {
		return 0, score == first
	}
	last := first // the score read last, and how many are below it
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

// nth returns the i-th score of the block, from 0; the block must hold it.
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

// lastOf returns the block's last score and where its run token stands, or the
// end of the tokens if the last score stands alone.
func lastOf(first int64, toks []byte) (last int64, tok int) {
	w := startWalk(first, toks)
	for w.next() {
	}
	return w.run.last(), w.tok
}

// dropFirst removes the lowest k scores of a block that holds more than k. It
// rewrites toks in place and returns the new first score and the new length of
// the tokens. Removing never makes the tokens longer.
func dropFirst(first int64, toks []byte, k int64) (int64, int) {
	w := startWalk(first, toks)
	for k >= w.run.n {
		k -= w.run.n
		w.next()
	}
	rest := w.run.n - 1 - k
	used := 0
	if rest > 0 {
		used = len(putUvarint(append(toks[:0], 0), uint64(rest)))
	}
	used += copy(toks[used:], toks[w.pos:])
	return w.run.first + k, used
}
