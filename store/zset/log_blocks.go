package zset

import "slices"

// logBlocks is a log of several blocks: a directory in order, whose entries have the first score of their
// block and its ordinal.
//
// Ordinals count entries since the log began and are not renumbered when the front is removed: the rank of an
// entry is its ordinal minus that of the first one. So appending and removing a prefix change the ends of the
// directory only; a change in the middle shifts the ordinals after it.
//
// There is at least one block. Neighbouring blocks may touch (one ends at 7, the next begins at 8): a run
// that no longer fits continues in a new block.
type logBlocks struct {
	list []logBlock // list[:head] is zero
	head int
	end  int64            // ordinal after the last entry
	last int64            // highest score
	free *[blockSize]byte // last dropped block, reused by the next append

	weights *weights // nil: all entries are plain
}

type logBlock struct {
	first  int64
	start  int64 // ordinal of first
	data   *[blockSize]byte
	used   uint8
	shared bool // a frozen log has the same data: unshare before changing them
}

func (b *logBlock) tokens() []byte { return b.data[:b.used] }

func (b *logBlocks) len() int64 {
	return b.end - b.list[b.head].start
}

// blockOf returns the last block that begins at or below score, or the first block.
func (b *logBlocks) blockOf(score int64) int {
	lo, hi := b.head, len(b.list)-1
	if lo < hi && score < b.list[lo+1].first {
		return lo // just left the window: what limiters ask for most
	}
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if b.list[mid].first <= score {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// locate returns the block of the entry with this rank, and the entry's rank within the block.
func (b *logBlocks) locate(rank int64) (i int, local int64) {
	ordinal := b.list[b.head].start + rank
	lo, hi := b.head, len(b.list)-1
	if lo < hi && ordinal < b.list[lo+1].start {
		return lo, rank
	}
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if b.list[mid].start <= ordinal {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo, ordinal - b.list[lo].start
}

func (b *logBlocks) seek(score int64) (below int64, found bool) {
	x := &b.list[b.blockOf(score)]
	below, found = seek(x.first, x.tokens(), score)
	return below + x.start - b.list[b.head].start, found
}

func (b *logBlocks) at(rank int64) int64 {
	i, local := b.locate(rank)
	x := &b.list[i]
	return nth(x.first, x.tokens(), local)
}

// append adds a run above the last score. It returns the new position of the last run token, which was tail.
func (b *logBlocks) append(r span, tail uint8) uint8 {
	last := b.last
	b.last = r.last()
	if b.head == len(b.list) {
		return b.push(r)
	}
	x := &b.list[len(b.list)-1]
	var buf [2*maxToken + 2]byte
	out, at, run := tailTokens(buf[:0], x.tokens(), int(tail), last, r)
	if at+len(out) > blockSize {
		return b.push(r)
	}
	x.unshare()
	x.used = uint8(at + copy(x.data[at:], out))
	b.end += r.n
	if b.weights != nil {
		b.weights.end += r.extra
	}
	return uint8(run)
}

// push appends a block with the run r and returns the position of its run token.
func (b *logBlocks) push(r span) uint8 {
	x := logBlock{first: r.first, start: b.end, data: b.free}
	b.free = nil
	if x.data == nil {
		x.data = new([blockSize]byte)
	}
	x.used = uint8(len(spanTokens(x.data[:0], r, 0, true)))
	if len(b.list) == cap(b.list) && b.head > 0 && b.head >= len(b.list)/2 {
		b.compact(cap(b.list))
	}
	b.list = append(b.list, x)
	b.end += r.n
	if w := b.weights; w != nil {
		w.before = append(w.before, w.end)
		w.end += r.extra
	}
	if r.extra > 0 {
		return x.used
	}
	return 0
}

// compact moves the directory to the front of an array of the given capacity.
func (b *logBlocks) compact(size int) {
	live := b.list[b.head:]
	if w := b.weights; w != nil {
		w.before = append(make([]int64, 0, size), w.before[b.head:]...)
	}
	if size == cap(b.list) {
		n := copy(b.list, live)
		clear(b.list[n:])
		b.list = b.list[:n]
	} else {
		b.list = append(make([]logBlock, 0, size), live...)
	}
	b.head = 0
}

// drop removes the n lowest entries of more than n. It returns the new position of the last run token, which
// was tail.
func (b *logBlocks) drop(n int64, tail uint8) uint8 {
	i, local := b.locate(n)
	if i > b.head {
		if free := &b.list[i-1]; !free.shared {
			b.free = free.data
		}
		clear(b.list[b.head:i])
		b.head = i
	}
	x := &b.list[i]
	if local > 0 {
		x.unshare()
		b.dropExtra(i, local)
		first, used := dropFirst(x.first, x.tokens(), local)
		if i == len(b.list)-1 {
			tail = uint8(max(int(tail)-int(x.used)+used, 0))
		}
		x.first, x.used = first, uint8(used)
		x.start += local
	}
	b.trim()
	return tail
}

// dropExtra counts the units of the lowest entries of block i as before it.
func (b *logBlocks) dropExtra(i int, entries int64) {
	if w := b.weights; w != nil {
		first, toks := b.list[i].first, b.list[i].tokens()
		w.before[i] += extraBelow(first, toks, nth(first, toks, entries))
	}
}

// trim shrinks a directory that is three quarters empty.
func (b *logBlocks) trim() {
	if live := len(b.list) - b.head; cap(b.list) > 16 && live <= cap(b.list)/4 {
		b.compact(2 * live)
	}
}

// insert inserts a score of 1+extra units that is not in the log.
func (b *logBlocks) insert(score, extra int64) {
	i := b.blockOf(score)
	var scratch [blockSize + 4]span
	spans := appendSpans(scratch[:0], b.list[i].first, b.list[i].tokens())
	next := b.rewrite(i, insertSpan(spans, score, extra))
	b.shift(next, 1, extra)
}

// remove removes the entries with ranks in [start, stop), which are not all.
func (b *logBlocks) remove(start, stop int64) {
	i, from := b.locate(start)
	j, to := len(b.list), int64(0)
	if stop < b.len() {
		j, to = b.locate(stop)
	}
	n, extra := stop-start, b.extraOfRanks(start, stop)
	var scratch [blockSize + 4]span
	spans := appendSpans(scratch[:0], b.list[i].first, b.list[i].tokens())
	if i == j {
		next := b.rewrite(i, deleteRanks(spans, from, to))
		b.shift(next, -n, -extra)
		b.merge(i)
		b.trim()
		return
	}
	if j < len(b.list) && to > 0 {
		x := &b.list[j]
		x.unshare()
		b.dropExtra(j, to)
		first, used := dropFirst(x.first, x.tokens(), to)
		x.first, x.used = first, uint8(used)
		x.start += to
	}
	b.deleteBlocks(i+1, j)
	b.shift(i+1, -n, -extra)
	// The block of start keeps the entries before it. It has none if start was its first.
	b.rewrite(i, deleteRanks(spans, from, 1<<62))
	b.merge(i)
	b.trim()
}

// rewrite replaces block i by the spans, which may take up to two blocks, and returns the index of the next
// block. It sets the ordinals of the blocks that it writes, not of those after them.
func (b *logBlocks) rewrite(i int, spans []span) int {
	if len(spans) == 0 {
		b.deleteBlocks(i, i+1)
		return i
	}
	var scratch, second [tokenScratch]byte
	toks, written := writeSpans(scratch[:0], spans, blockSize)
	if written < len(spans) {
		toks, written = writeSpans(scratch[:0], spans, splitSize)
		rest, n := writeSpans(second[:0], spans[written:], blockSize)
		if written+n < len(spans) {
			panic("zset: a block does not split in two")
		}
		y := logBlock{first: spans[written].first, start: b.list[i].start}
		for _, r := range spans[:written] {
			y.start += r.n
		}
		b.list = slices.Insert(b.list, i+1, y)
		if w := b.weights; w != nil {
			w.before = slices.Insert(w.before, i+1, w.before[i]+extraOfSpans(spans[:written]))
		}
		b.set(i+1, y.first, rest)
		b.set(i, spans[0].first, toks)
		return i + 2
	}
	b.set(i, spans[0].first, toks)
	return i + 1
}

func (b *logBlocks) set(i int, first int64, toks []byte) {
	x := &b.list[i]
	if x.data == nil || x.shared {
		x.data, x.shared = new([blockSize]byte), false
	}
	x.first = first
	x.used = uint8(copy(x.data[:], toks))
}

func (b *logBlocks) deleteBlocks(i, j int) {
	b.list = slices.Delete(b.list, i, j)
	if w := b.weights; w != nil {
		w.before = slices.Delete(w.before, i, j)
	}
}

// shift adds n to the ordinals from block i on, and extra to the units before them.
func (b *logBlocks) shift(i int, n, extra int64) {
	for j := i; j < len(b.list); j++ {
		b.list[j].start += n
	}
	b.end += n
	if w := b.weights; w != nil {
		for j := i; j < len(b.list); j++ {
			w.before[j] += extra
		}
		w.end += extra
	}
}

// merge merges block i with the previous or next one if both fit in one with some space left, so that
// scattered removals do not leave many small blocks.
func (b *logBlocks) merge(i int) {
	for _, i := range [2]int{i, i - 1} {
		if i < b.head || i+1 >= len(b.list) ||
			int(b.list[i].used)+int(b.list[i+1].used) > blockSize-2*maxToken {
			continue
		}
		var scratch [2*blockSize + 4]span
		spans := appendSpans(scratch[:0], b.list[i].first, b.list[i].tokens())
		seam := len(spans)
		spans = appendSpans(spans, b.list[i+1].first, b.list[i+1].tokens())
		if a, z := &spans[seam-1], &spans[seam]; z.first == a.last()+1 && a.extra == 0 && z.extra == 0 {
			spans[seam-1].n += spans[seam].n
			spans = slices.Delete(spans, seam, seam+1)
		}
		b.deleteBlocks(i+1, i+2)
		b.rewrite(i, spans)
	}
}

// turn returns that of the log; see weights.go.
func (b *logBlocks) turn() int64 {
	if b.weights == nil {
		return noTurn
	}
	return b.weights.turn
}

func (b *logBlocks) ascend(rank int64, fn func(Entry) bool) {
	i, local := b.locate(rank)
	for ; i < len(b.list); i++ {
		x := &b.list[i]
		if !ascendTokens(x.first, x.tokens(), b.turn(), local, fn) {
			return
		}
		local = 0
	}
}

func (b *logBlocks) descend(rank int64, fn func(Entry) bool) {
	i, local := b.locate(rank)
	for ; i >= b.head; i-- {
		x := &b.list[i]
		if !descendTokens(x.first, x.tokens(), b.turn(), local, fn) {
			return
		}
		if i > b.head {
			local = x.start - b.list[i-1].start - 1
		}
	}
}
