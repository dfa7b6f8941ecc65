package zset

import (
	"fmt"
	"slices"

	"github.com/zlimit/zlimit/store/dict"
)

// check checks the invariants of the whole set.
func (s *Set) check() error {
	for step := range ReadAheadSteps { // it reads through bare pointers
		s.ReadAhead(step)
	}
	switch s.kind {
	case kindBlock:
		return s.checkBlock()
	case kindBlocks:
		return s.checkBlocks()
	case kindPacked:
		return s.packed().check()
	default:
		return s.tree().check()
	}
}

func (s *Set) checkBlock() error {
	if s.n == 0 {
		if s.hasWeights() || s.used != 0 || s.tail != 0 || s.first != 0 {
			return fmt.Errorf("empty log is %+v", *s)
		}
		return nil
	}
	if int(s.used) > len(s.buf()) {
		return fmt.Errorf("%d bytes used of %d", s.used, len(s.buf()))
	}
	if capacity := len(s.buf()); capacity+s.turnSize() > keepBuf && int(s.used)*4 <= capacity {
		return fmt.Errorf("%d bytes used of %d", s.used, capacity)
	}
	if want := int64(bufSizes[s.flags>>bufShift]); want > 0 && s.BodyBytes() != want+int64(scoreSize) {
		return fmt.Errorf("%d bytes of an array of %d", s.BodyBytes(), want+int64(scoreSize))
	}
	n, extra, last, tail, err := checkTokens(s.first, s.tokens())
	if err != nil {
		return err
	}
	if err := s.checkWeights(extra); err != nil {
		return err
	}
	if n != int64(s.n) || last != s.last() || tail != int(s.tail) {
		return fmt.Errorf("set says n %d, last %d, tail %d; tokens say %d, %d, %d",
			s.n, s.last(), s.tail, n, last, tail)
	}
	return nil
}

func (s *Set) checkBlocks() error {
	b := s.blocks()
	if b.head >= len(b.list) {
		return fmt.Errorf("no blocks")
	}
	for i, x := range b.list[:b.head] {
		if x != (logBlock{}) {
			return fmt.Errorf("block %d before the head is %+v", i, x)
		}
	}
	for i, x := range b.list[len(b.list):cap(b.list)] {
		if x != (logBlock{}) {
			return fmt.Errorf("block %d behind the list is %+v", i, x)
		}
	}
	if s.first != b.list[b.head].first {
		return fmt.Errorf("set says first %d, blocks %d", s.first, b.list[b.head].first)
	}
	before, ordinal := int64(-maxNumber-1), b.list[b.head].start
	units := int64(0)
	if w := b.weights; w != nil {
		if len(w.before) != len(b.list) {
			return fmt.Errorf("%d blocks have units, not %d", len(w.before), len(b.list))
		}
		units = w.before[b.head]
	}
	fromUnits := units
	for i := b.head; i < len(b.list); i++ {
		x := b.list[i]
		if x.first <= before {
			return fmt.Errorf("block %d begins at %d, the one before ends at %d", i, x.first, before)
		}
		if x.start != ordinal {
			return fmt.Errorf("block %d has ordinal %d, not %d", i, x.start, ordinal)
		}
		n, extra, last, tail, err := checkTokens(x.first, x.tokens())
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if w := b.weights; w != nil && w.before[i] != units {
			return fmt.Errorf("block %d has %d units before it, not %d", i, w.before[i], units)
		}
		units += extra
		if i == len(b.list)-1 && (last != s.last() || tail != int(s.tail)) {
			return fmt.Errorf("set says last %d, tail %d; tokens say %d, %d", s.last(), s.tail, last, tail)
		}
		before, ordinal = last, ordinal+n
	}
	if ordinal != b.end {
		return fmt.Errorf("end is %d, not %d", b.end, ordinal)
	}
	if w := b.weights; w != nil && w.end != units {
		return fmt.Errorf("end has %d units before it, not %d", w.end, units)
	}
	if err := s.checkWeights(units - fromUnits); err != nil {
		return err
	}
	if b.head == len(b.list)-1 && b.list[b.head].used <= blockSize/2 && b.len() <= 1<<32-1 {
		return fmt.Errorf("one small block outside of the set")
	}
	return nil
}

// checkWeights checks the turn of a log whose entries have so many units beyond one each. compare checks the
// rest.
func (s *Set) checkWeights(extra int64) error {
	if s.kind == kindBlocks && s.hasWeights() != (s.blocks().weights != nil) {
		return fmt.Errorf("weighted %v, but %v", s.hasWeights(), s.blocks().weights)
	}
	if s.hasWeights() && s.last() < s.turn() || !s.hasWeights() && extra > 0 {
		return fmt.Errorf("%d units from %d on, the last score is %d", extra, s.turn(), s.last())
	}
	return nil
}

// checkTokens decodes a block independently of the code under test.
func checkTokens(first int64, toks []byte) (n, extra, last int64, tail int, err error) {
	read := func(pos int) (v uint64, next int, err error) {
		for shift := 0; ; shift += 7 {
			if pos == len(toks) || shift > 56 {
				return 0, 0, fmt.Errorf("number cut off at %d of % x", pos, toks)
			}
			c := toks[pos]
			pos++
			v |= uint64(c&0x7f) << shift
			if c < 0x80 {
				if c == 0 && shift > 0 {
					return 0, 0, fmt.Errorf("number too long before %d of % x", pos, toks)
				}
				return v, pos, nil
			}
		}
	}
	n, last = 1, first
	afterRun := false
	for pos := 0; pos < len(toks); {
		at := pos
		v, next, err := read(pos)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		pos = next
		if v > 0 {
			n, last, afterRun, tail = n+1, last+int64(v)+1, false, pos
			continue
		}
		if v, pos, err = read(pos); err != nil {
			return 0, 0, 0, 0, err
		}
		if v == 0 {
			gap, next, err := read(pos)
			if err != nil {
				return 0, 0, 0, 0, err
			}
			units, next, err := read(next)
			if err != nil {
				return 0, 0, 0, 0, err
			}
			if gap == 0 && at > 0 || units < 2 {
				return 0, 0, 0, 0, fmt.Errorf("%d units at %d of % x, %d on", units, at, toks, gap)
			}
			if gap > 0 {
				n++
			}
			extra, last, pos, afterRun, tail = extra+int64(units)-1, last+int64(gap), next, false, next
			continue
		}
		if afterRun {
			return 0, 0, 0, 0, fmt.Errorf("run at %d of % x adds %d", at, toks, v)
		}
		n, last, afterRun, tail = n+int64(v), last+int64(v), true, at
	}
	if first < -maxNumber || last > maxNumber {
		return 0, 0, 0, 0, fmt.Errorf("scores from %d to %d", first, last)
	}
	return n, extra, last, tail, nil
}

func (p *packed) check() error {
	if p.n > packedEntries || len(p.data) > packedBytes || cap(p.data) > 128 && len(p.data)*4 <= cap(p.data) {
		return fmt.Errorf("%d entries in %d bytes of %d", p.n, len(p.data), cap(p.data))
	}
	n, seen, last := 0, map[string]bool{}, 0
	var before Entry
	for pos := 0; pos < len(p.data); n++ {
		c, end := p.read(pos)
		e, next := p.entry(pos)
		unordered := e.Score < before.Score || e.Score == before.Score && e.member <= before.member
		if n > 0 && unordered || seen[e.member] {
			return fmt.Errorf("%q %v is before %q %v", before.member, before.Score, e.member, e.Score)
		}
		want := newCell([]byte(e.member), e.Score)
		if want.prefixed != c.prefixed || want.size() != next-pos || end != next || p.skip(pos) != next {
			return fmt.Errorf("%q %v is encoded in %d bytes, prefixed %v",
				e.member, e.Score, next-pos, c.prefixed)
		}
		if v, ok := leadingNumber([]byte(e.member)); !p.irregular && (!ok || float64(v) != e.Score) {
			return fmt.Errorf("%q %v: leading number is not the score", e.member, e.Score)
		}
		seen[e.member] = true
		before, last, pos = e, pos, next
	}
	if n != int(p.n) || n > 0 && p.last != unknownPos && int(p.last) != last {
		return fmt.Errorf("%d entries, the last at %d; not %d, at %d", n, last, p.n, p.last)
	}
	return nil
}

func (t *tree) check() error {
	n, leaves, unlisted := 0, 0, 0
	var itemBytes int64
	var before *item
	for l, prev := t.front, (*leaf)(nil); l != nil; prev, l = l, l.next {
		leaves++
		if l.prev != prev || l.next == nil && t.back != l {
			return fmt.Errorf("leaf %d is linked wrongly", leaves)
		}
		if l.unlisted {
			p := t.rest.parts[l]
			if l.items != nil || p.n <= 0 || l.capacity != 0 {
				return fmt.Errorf("unlisted leaf %d has %d items, %d ranks", leaves, len(l.items), p.n)
			}
			unlisted += p.n
			for i := range p.n {
				it := t.itemOf(l, i)
				if before != nil && compareItems(*before, it) >= 0 {
					return fmt.Errorf("%v is before the unlisted %v", before.score, it.score)
				}
				if key := t.entryOf(l, i).Member(); t.index.GetString(dict.HashString(key), key) != nil {
					return fmt.Errorf("%q is in the index and unlisted", key)
				}
				before = &it
			}
		} else if len(l.items) == 0 && t.front != t.back || len(l.items) > leafSize {
			return fmt.Errorf("leaf %d holds %d items", leaves, len(l.items))
		}
		for i := range l.items {
			it := l.items[i]
			if before != nil && compareItems(*before, it) >= 0 {
				return fmt.Errorf("%v is before %q %v", before.score, it.node.Key(), it.score)
			}
			key := it.node.Key()
			if t.index.GetString(dict.HashString(key), key) != it.node || it.node.Value != it.score {
				return fmt.Errorf("%q %v is not in the index", key, it.score)
			}
			before = &it
		}
		if cap(l.items) > int(l.capacity) {
			return fmt.Errorf("leaf %d has capacity %d, not %d", leaves, cap(l.items), l.capacity)
		}
		itemBytes += itemsSize(int(l.capacity))
		for _, it := range l.items[len(l.items):cap(l.items)] {
			if it.node != nil {
				return fmt.Errorf("leaf %d keeps %q alive", leaves, it.node.Key())
			}
		}
		if l != t.front {
			if r, ok := t.dir.Get(leafRef{first: t.itemOf(l, 0)}); !ok || r.leaf != l {
				return fmt.Errorf("leaf %d is not in the directory", leaves)
			}
		}
		if r := &t.ranks; !r.stale && leaves > 1 {
			want, sum := n, 0
			for i := int(l.pos) - 1; i >= 0; i = i&(i+1) - 1 {
				sum += r.sums[i]
			}
			if int(l.pos) != leaves-1 || r.leaves[l.pos] != l || sum != want {
				return fmt.Errorf("leaf %d begins at rank %d, not %d", leaves, want, sum)
			}
		}
		n += t.size(l)
	}
	if err := t.checkRest(unlisted); err != nil {
		return err
	}
	if t.dir == nil && leaves != 1 || t.dir != nil && (leaves < 2 || t.dir.Len() != leaves-1) {
		return fmt.Errorf("%d leaves, directory %v", leaves, t.dir)
	}
	if n != t.len() {
		return fmt.Errorf("leaves have %d members, index %d, of which %d are dead",
			n, t.index.Len(), t.rest.dead)
	}
	for _, l := range t.rest.dropped {
		for ; l != nil; l = l.next {
			leaves++
			itemBytes += itemsSize(int(l.capacity))
		}
	}
	if leaves != t.leaves || itemBytes != t.itemsBytes {
		return fmt.Errorf("%d leaves with %d bytes; accounted are %d with %d",
			leaves, itemBytes, t.leaves, t.itemsBytes)
	}
	if r := t.ranks.leaves; slices.Contains(r[len(r):cap(r)], t.front) {
		return fmt.Errorf("ranks keep a removed leaf alive")
	}
	return nil
}

// checkRest checks what is left to do. The leaves have so many unlisted members.
func (t *tree) checkRest(unlisted int) error {
	r := &t.rest
	if unlisted != r.unlisted || (r.log != nil) != (len(r.parts) > 0) || (r.log != nil) != (unlisted > 0) {
		return fmt.Errorf("%d unlisted members, accounted are %d in %d leaves",
			unlisted, r.unlisted, len(r.parts))
	}
	for l := range r.parts {
		if !l.unlisted || !slices.Contains(r.queue, l) {
			return fmt.Errorf("a part of the log has no unlisted leaf in the queue")
		}
	}
	dropped := map[*node]bool{}
	for _, l := range r.dropped {
		for ; l != nil; l = l.next {
			for _, it := range l.items {
				dropped[it.node] = true
			}
		}
	}
	dead := 0
	for n := range t.index.All() {
		if !t.alive(n) {
			dead++
			if !dropped[n] {
				return fmt.Errorf("%q is dead and nobody will unlink it", n.Key())
			}
		}
	}
	if dead != r.dead {
		return fmt.Errorf("%d dead nodes, accounted are %d", dead, r.dead)
	}
	return nil
}
