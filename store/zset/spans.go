package zset

import "slices"

// A change in the middle of a log decodes its block to a list of spans, edits the list, and encodes it again.
// That costs a pass over the block, and there is only one encoder.

// A span is n consecutive scores from first on, of one unit each, or one score of 1+extra units.
type span struct {
	first, n, extra int64
}

func (r span) last() int64 { return r.first + r.n - 1 }

func appendSpans(spans []span, first int64, toks []byte) []span {
	w := newRunIter(first, toks)
	spans = append(spans, w.run)
	for w.next() {
		spans = append(spans, w.run)
	}
	return spans
}

// spanTokens appends the tokens of r. They follow the score prev of the same block, or are at the head of a
// block. If r has one unit a score it must not touch another such span.
func spanTokens(toks []byte, r span, prev int64, head bool) []byte {
	more := uint64(r.n) - 1
	switch {
	case r.extra > 0:
		if head {
			prev = r.first
		}
		toks = appendUvarint(append(toks, 0, 0), uint64(r.first-prev))
		return appendUvarint(toks, uint64(r.extra)+1)
	case head:
	case r.first == prev+1:
		more++
	default:
		toks = appendUvarint(toks, uint64(r.first-prev)-1)
	}
	if more > 0 {
		toks = appendUvarint(append(toks, 0), more)
	}
	return toks
}

// tokenScratch is the capacity for a block and one more run, at which writeSpans stops.
const tokenScratch = blockSize + 2*maxToken + 2

// splitSize is the size of the first of two blocks when a block overflows: a little more than half, because
// most changes in the middle of a log are late arrivals, and the log continues at its end.
const splitSize = 80

// writeSpans encodes as many of the spans as fit in limit bytes to toks, which must be empty with capacity
// tokenScratch. It returns the tokens and the number of encoded spans. The first span always fits.
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

// insertSpan inserts a score of 1+extra units that is in no span.
func insertSpan(spans []span, score, extra int64) []span {
	i, _ := slices.BinarySearchFunc(spans, score, func(r span, score int64) int {
		if r.last() < score {
			return -1
		}
		return 1
	})
	below := i > 0 && spans[i-1].last() == score-1 && spans[i-1].extra == 0
	above := i < len(spans) && spans[i].first == score+1 && spans[i].extra == 0
	switch {
	case extra > 0:
		return slices.Insert(spans, i, span{score, 1, extra})
	case below && above:
		spans[i-1].n += 1 + spans[i].n
		return slices.Delete(spans, i, i+1)
	case below:
		spans[i-1].n++
	case above:
		spans[i].first--
		spans[i].n++
	default:
		return slices.Insert(spans, i, span{score, 1, 0})
	}
	return spans
}

// extraOfSpans returns the units of the spans beyond one a score.
func extraOfSpans(spans []span) (extra int64) {
	for _, r := range spans {
		extra += r.extra
	}
	return extra
}

// setExtra changes how many units a score stands for beyond one. The score has the given rank.
func setExtra(spans []span, rank, score, extra int64) []span {
	return insertSpan(deleteRanks(spans, rank, rank+1), score, extra)
}

// deleteRanks removes the scores with ranks in [start, stop). A range within one span leaves two spans.
func deleteRanks(spans []span, start, stop int64) []span {
	i, before := spanAtRank(spans, start)
	j, cut := spanAtRank(spans, stop)
	var keep [2]span
	k := 0
	if before > 0 {
		keep[k] = span{first: spans[i].first, n: before}
		k++
	}
	if cut > 0 {
		keep[k] = span{first: spans[j].first + cut, n: spans[j].n - cut}
		k++
		j++
	}
	return slices.Replace(spans, i, j, keep[:k]...)
}

// spanAtRank returns the span of the score with this rank, and the score's rank within it; past the last
// score, it returns len(spans), 0.
func spanAtRank(spans []span, rank int64) (i int, local int64) {
	for i, r := range spans {
		if rank < r.n {
			return i, rank
		}
		rank -= r.n
	}
	return len(spans), 0
}
