package zset

import "slices"

// A change in the middle of a log reads its block as a list of spans, edits
// the list, and writes it again. That costs a walk through the block, and
// leaves one place where tokens are made from scores.

// span is n consecutive scores that begin at first.
type span struct {
	first, n int64
}

func (r span) last() int64 { return r.first + r.n - 1 }

// appendSpans appends the runs of a block to spans.
func appendSpans(spans []span, first int64, toks []byte) []span {
	w := startWalk(first, toks)
	spans = append(spans, w.run)
	for w.next() {
		spans = append(spans, w.run)
	}
	return spans
}

// spanTokens appends the tokens of r, after a score prev of the same block
// (whose last run r must not touch), or at the head of a block.
func spanTokens(toks []byte, r span, prev int64, head bool) []byte {
	if !head {
		toks = putUvarint(toks, uint64(r.first-prev)-1)
	}
	if r.n > 1 {
		toks = putUvarint(append(toks, 0), uint64(r.n)-1)
	}
	return toks
}

// tokenScratch is room for a block and the one run too many that tells
// writeSpans to stop.
const tokenScratch = blockSize + 2*maxToken + 2

// splitSize is what the first of two blocks takes when one block overflows: a
// little more than half, since changes in the middle of a log are mostly late
// arrivals, after which the log goes on at the end.
const splitSize = 80

// writeSpans writes as many of the spans as fit in limit bytes to toks, which
// must be empty with room for tokenScratch bytes, and returns the tokens and
// how many spans they tell. The first span always fits.
func writeSpans(toks []byte, spans []span, limit int) ([]byte, int) {
	var prev int64
	for i, r := range spans {
		mark := len(toks)
		toks = spanTokens(toks, r, prev, i == 0)
		if len(toks) > limit {
			return toks[:mark], i
		}
		prev = r.last()
	}
	return toks, len(spans)
}

// insertSpan adds a score that no span holds.
func insertSpan(spans []span, score int64) []span {
	i, _ := slices.BinarySearchFunc(spans, score, func(r span, score int64) int {
		if r.last() < score {
			return -1
		}
		return 1
	})
	below := i > 0 && spans[i-1].last() == score-1
	above := i < len(spans) && spans[i].first == score+1
	switch {
	case below && above:
		spans[i-1].n += 1 + spans[i].n
		return slices.Delete(spans, i, i+1)
	case below:
		spans[i-1].n++
	case above:
		spans[i].first--
		spans[i].n++
	default:
		return slices.Insert(spans, i, span{score, 1})
	}
	return spans
}

// cutSpans takes out the scores with ranks from start up to, not including,
// stop. A cut within one span leaves two.
func cutSpans(spans []span, start, stop int64) []span {
	i, before := spanOf(spans, start)
	j, cut := spanOf(spans, stop)
	var keep [2]span
	k := 0
	if before > 0 {
		keep[k] = span{spans[i].first, before}
		k++
	}
	if cut > 0 {
		keep[k] = span{spans[j].first + cut, spans[j].n - cut}
		k++
		j++
	}
	return slices.Replace(spans, i, j, keep[:k]...)
}

// spanOf returns the span that holds the score with this rank, and the score's
// rank within it; behind the last score that is len(spans), 0.
func spanOf(spans []span, rank int64) (i int, local int64) {
	for i, r := range spans {
		if rank < r.n {
			return i, rank
		}
		rank -= r.n
	}
	return len(spans), 0
}
