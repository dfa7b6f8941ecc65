package zset

import (
	"math"
	"unsafe"
)

// This file is the weights of a log. An entry below the turn is plain: its member is its score, and it stands
// for one unit. From the turn on an entry is weighted: its member is its score, a colon and its number of
// units, which may be one. A log without weighted entries has no turn and nothing of this file in memory.
//
// So the form of the newest entry says whether any entry is weighted. What counts units where it only sees
// members (a script on another server) need not read them all if the newest is plain.

// MaxUnits is the most units of an entry, and of all entries of a log with weighted ones.
const MaxUnits = maxNumber - 1

const noTurn = math.MaxInt64

// weights is the turn and the units of a log of several blocks. Units are counted beyond one for each entry,
// whose number the blocks have.
type weights struct {
	turn   int64
	before []int64 // for each block of the list: units before it since the log began
	end    int64   // units before the end since the log began
}

func (s *Set) hasWeights() bool { return s.flags&flagWeighted != 0 }

// turn returns the score from which on entries are weighted: above the last plain one, and at most that of
// the first weighted one.
func (s *Set) turn() int64 {
	switch {
	case !s.hasWeights():
		return noTurn
	case s.kind == kindBlocks:
		return s.blocks().weights.turn
	}
	return *(*int64)(unsafe.Add(s.body, scoreSize))
}

// setTurn requires hasWeights.
func (s *Set) setTurn(score int64) {
	if s.kind == kindBlocks {
		s.blocks().weights.turn = score
		return
	}
	*(*int64)(unsafe.Add(s.body, scoreSize)) = score
}

// beginWeights gives a log without weighted entries a turn.
func (s *Set) beginWeights(turn int64) {
	if s.kind == kindBlock && int(s.used) > s.maxBuf()-scoreSize {
		s.convertToBlocks()
	}
	if s.kind == kindBlocks {
		s.flags |= flagWeighted
		b := s.blocks()
		b.weights = &weights{turn: turn, before: make([]int64, len(b.list), cap(b.list))}
		return
	}
	if size := int(s.used) + scoreSize; size > len(s.buf()) {
		s.resizeBuf(size)
	}
	toks := s.tokens()
	s.flags |= flagWeighted
	copy(s.buf(), toks)
	s.setTurn(turn)
}

// endWeights removes the turn if no entry is weighted any more.
func (s *Set) endWeights() {
	if !s.hasWeights() || s.last() >= s.turn() {
		return
	}
	if s.kind == kindBlocks {
		s.flags &^= flagWeighted
		s.blocks().weights = nil
		return
	}
	toks := s.tokens()
	s.flags &^= flagWeighted
	copy(s.buf(), toks)
	s.shrink()
}

// Units returns the number of units of all entries. The set must be a log.
func (s *Set) Units() int64 {
	n := int64(s.Len())
	if !s.hasWeights() {
		return n
	}
	return n + s.extraBelow(math.MaxInt64)
}

// UnitsAfter returns the number of units of the entries with a score above the given one. The set must be a
// log.
func (s *Set) UnitsAfter(score int64) int64 {
	n := int64(s.Len()) - s.countThrough(score)
	if !s.hasWeights() || n == 0 {
		return n
	}
	return n + s.extraBelow(math.MaxInt64) - s.extraBelow(score+1)
}

// UnitAt returns the score of the entry that has the unit with the given rank, which must be at least 0 and
// below Units. The set must be a log.
func (s *Set) UnitAt(rank int64) int64 {
	switch {
	case rank < 0 || rank >= s.Units():
		panic("zset: rank out of range")
	case !s.hasWeights():
		return s.logAt(rank)
	case s.kind == kindBlock:
		return nthUnit(s.first, s.tokens(), rank)
	}
	return s.blocks().nthUnit(rank)
}

// UnitsOf returns the number of units of the entry with this score, 0 if the log has none. The set must be a
// log.
func (s *Set) UnitsOf(score int64) int64 {
	switch n := s.Len(); {
	case n == 0 || score < s.first || score > s.last():
		return 0
	case !s.hasWeights():
		if _, ok := s.logRank(score); !ok {
			return 0
		}
		return 1
	}
	first, toks := s.blockOf(score)
	if w, ok := spanOf(first, toks, score); ok {
		return 1 + w.run.extra
	}
	return 0
}

// blockOf returns the first score and the tokens of the block that has a score, if any has.
func (s *Set) blockOf(score int64) (first int64, toks []byte) {
	if s.kind == kindBlock {
		return s.first, s.tokens()
	}
	b := s.blocks()
	x := &b.list[b.blockOf(score)]
	return x.first, x.tokens()
}

// IsWeighted reports whether the log has weighted entries.
func (s *Set) IsWeighted() bool { return s.hasWeights() }

// Append adds an entry above the others. It is plain if it has one unit and no entry is weighted. score must
// be within 2^53 of zero and above Newest if the set is not empty, units at least 1, and the units of all
// entries at most MaxUnits. The set must be a log.
func (s *Set) Append(score, units int64) {
	if !s.IsLog() || s.Len() > 0 && score <= s.last() || score < -maxNumber || score > maxNumber ||
		units < 1 {
		panic("zset: entry does not follow the log")
	}
	switch {
	case units == 1 && !s.hasWeights(): // what nearly all calls are
		s.logAppend(span{first: score, n: 1})
	case !s.logInsert(score, units):
		panic("zset: too many units")
	}
}

// AddUnits adds units to the newest entry if it has this score, and is Append otherwise.
func (s *Set) AddUnits(score, units int64) {
	if s.Len() > 0 && score == s.last() {
		s.SetUnits(score, s.UnitsOf(score)+units)
		return
	}
	s.Append(score, units)
}

// EntryOf returns the entry with this score. The set must be a log that has it.
func (s *Set) EntryOf(score int64) Entry { return s.logEntry(score) }

// SetUnits changes the number of units of the entry with this score, and removes it if that is 0. A plain
// entry below another plain one cannot have more than one unit. The set must be a log with such an entry.
func (s *Set) SetUnits(score, units int64) {
	had := s.UnitsOf(score)
	if had == 0 || units < 0 || units > had && units > MaxUnits-s.Units()+had {
		panic("zset: no such entry, or too many units")
	}
	if had > 1 && units > 1 && s.overwriteUnits(score, units) {
		s.flags |= flagAdded
		return
	}
	rank, _ := s.logRank(score)
	turn := s.turn()
	switch {
	case units == 0:
		s.logRemove(rank, rank+1)
		return
	case score >= turn:
	case units == 1:
		return
	case s.countBelow(turn) != rank+1:
		panic("zset: a plain entry is above the one that gets units")
	case turn == noTurn:
		s.beginWeights(score)
	default:
		s.setTurn(score)
	}
	s.flags |= flagAdded
	if s.kind == kindBlock {
		s.setExtraInBlock(rank, score, units-1)
	} else {
		s.blocks().setExtra(rank, score, units-1)
		s.syncBlocks()
	}
}

// overwriteUnits changes the units of an entry within its token, if that keeps its size, which corrections of
// an estimate seldom change. It reports whether it did.
func (s *Set) overwriteUnits(score, units int64) bool {
	if s.kind == kindBlock {
		_, ok := overwriteExtra(s.first, s.tokens(), score, units-1)
		return ok
	}
	b := s.blocks()
	i := b.blockOf(score)
	x := &b.list[i]
	x.unshare()
	old, ok := overwriteExtra(x.first, x.tokens(), score, units-1)
	if ok {
		b.shift(i+1, 0, units-1-old)
	}
	return ok
}

// logEntry returns the entry with this score, which the log has.
func (s *Set) logEntry(score int64) Entry {
	if score < s.turn() {
		return numberEntry(score)
	}
	return makeEntry(score, s.UnitsOf(score)-1, score)
}

// makeEntry returns an entry of a log with this turn.
func makeEntry(score, extra, turn int64) Entry {
	if score < turn {
		return numberEntry(score)
	}
	return Entry{Score: float64(score), units: 1 + extra}
}

// logFind returns the rank and the score of a member of the log.
func (s *Set) logFind(member []byte) (rank, score int64, ok bool) {
	score, units, ok := ParseMember(member)
	if !ok {
		return 0, 0, false
	}
	if rank, ok = s.logHas(score, units); !ok {
		return 0, 0, false
	}
	return rank, score, true
}

// logHas returns the rank of the entry with this score, if it has these units, 0 for a plain one.
func (s *Set) logHas(score, units int64) (rank int64, ok bool) {
	if rank, ok = s.logRank(score); !ok || (units > 0) != (score >= s.turn()) {
		return 0, false
	}
	return rank, units == 0 || units == s.UnitsOf(score)
}

// logPlace makes place for an entry with a score that the log does not have, 0 units for a plain one. It
// reports whether the entry can be one of a log.
func (s *Set) logPlace(score, units int64) bool {
	turn := s.turn()
	switch {
	case units == 0 && turn == noTurn:
		return true
	case units > MaxUnits-s.Units():
		return false
	case units == 0 && score >= turn:
		if s.countBelow(score) > s.countBelow(turn) {
			return false // above a weighted one
		}
		s.setTurn(score + 1)
	case units > 0 && score < turn:
		if s.countBelow(turn) > s.countBelow(score) {
			return false // below a plain one
		}
		if turn == noTurn {
			s.beginWeights(score)
		} else {
			s.setTurn(score)
		}
	}
	return true
}

// extraBelow returns how many units the entries below a score have beyond one each. It requires hasWeights.
func (s *Set) extraBelow(score int64) int64 {
	if s.kind == kindBlock {
		return extraBelow(s.first, s.tokens(), score)
	}
	return s.blocks().extraBelow(score)
}

// extraBelow requires weights.
func (b *logBlocks) extraBelow(score int64) int64 {
	w := b.weights
	if score > b.last {
		return w.end - w.before[b.head]
	}
	i := b.blockOf(score)
	return w.before[i] - w.before[b.head] + extraBelow(b.list[i].first, b.list[i].tokens(), score)
}

// nthUnit requires weights.
func (b *logBlocks) nthUnit(rank int64) int64 {
	w := b.weights
	rank += b.list[b.head].start + w.before[b.head]
	lo, hi := b.head, len(b.list)-1
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if b.list[mid].start+w.before[mid] <= rank {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	x := &b.list[lo]
	return nthUnit(x.first, x.tokens(), rank-x.start-w.before[lo])
}

// extraOfRanks returns how many units the entries with ranks in [start, stop) have beyond one each.
func (b *logBlocks) extraOfRanks(start, stop int64) int64 {
	if b.weights == nil {
		return 0
	}
	through := int64(math.MaxInt64)
	if stop < b.len() {
		through = b.at(stop)
	}
	return b.extraBelow(through) - b.extraBelow(b.at(start))
}

// setExtra changes how many units an entry has beyond one. It requires weights.
func (b *logBlocks) setExtra(rank, score, extra int64) {
	i := b.blockOf(score)
	x := &b.list[i]
	w, _ := spanOf(x.first, x.tokens(), score)
	old := w.run.extra
	var scratch [blockSize + 4]span
	spans := appendSpans(scratch[:0], x.first, x.tokens())
	next := b.rewrite(i, setExtra(spans, rank-(x.start-b.list[b.head].start), score, extra))
	b.shift(next, 0, extra-old)
}
