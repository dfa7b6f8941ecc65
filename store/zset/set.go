package zset

import (
	"math"
	"unsafe"
)

// Set is a sorted set. The zero value is empty, in log encoding, and owns no
// memory beyond itself. It must not be copied once used (Clone does that), and
// is not safe for concurrent use; methods that change nothing may run beside
// each other while none that changes runs, Rank, At and the ranges excepted:
// on a tree they may refresh an index.
type Set struct {
	first int64 // log: the lowest score

	// rest is, by kind: the last score and the tokens of a log of one block, as an
	// array of 16 to 128 bytes (flags say which), or nil as long as none was
	// needed; a *logBlocks; a *packed; a *tree. A bare pointer and not one field for each,
	// nor an interface, because a server holds a million of these with a hit or
	// two in them.
	rest unsafe.Pointer

	n     uint32 // kindBlock: units held
	used  uint8  // kindBlock: bytes of tokens
	tail  uint8  // log: where the last run token of the last block stands; behind its tokens if the last score stands alone
	kind  uint8
	flags uint8
}

const (
	kindBlock  = iota // log of one block, kept in the Set itself
	kindBlocks        // log of several
	kindPacked        // small tree, as one string of bytes
	kindTree
	kindFrozen // what Freeze makes of a tree
)

const (
	flagAdded    = 1 << iota // a member came since NoteEncoding looked last
	flagSkiplist             // Redis would have left the listpack

	roomShift = iota // what is above says how large a lone block's array is
)

// Len returns the number of members.
func (s *Set) Len() int {
	switch s.kind {
	case kindBlock:
		return int(s.n)
	case kindBlocks:
		return int(s.blocks().len())
	case kindPacked:
		return int(s.packed().n)
	case kindFrozen:
		return s.frozen().n
	default:
		return s.tree().len()
	}
}

// IsLog reports whether the set is in log encoding: each member so far was the
// canonical decimal of its own score. A set that left it does not come back.
func (s *Set) IsLog() bool { return s.kind <= kindBlocks }

// Only where kind says so:
func (s *Set) blocks() *logBlocks { return (*logBlocks)(s.rest) }
func (s *Set) packed() *packed    { return (*packed)(s.rest) }
func (s *Set) tree() *tree        { return (*tree)(s.rest) }

// Score returns the score of member. It does not allocate.
func (s *Set) Score(member []byte) (score float64, ok bool) {
	switch s.kind {
	case kindPacked:
		return s.packed().score(member)
	case kindTree:
		return s.tree().score(member)
	}
	v, ok := parseNumber(member)
	if !ok {
		return 0, false
	}
	if _, ok = s.logRank(v); !ok {
		return 0, false
	}
	return float64(v), true
}

// Add gives member the score, whether it was held or not, and returns the
// score it had. A score equal to that changes nothing, -0 for 0 included, as
// in Redis. Infinities are scores; NaN is not and panics, because it has
// no place in the order. The member is copied if it is kept as bytes.
func (s *Set) Add(member []byte, score float64) (old float64, existed bool) {
	if math.IsNaN(score) {
		panic("zset: score is not a number")
	}
	if s.IsLog() {
		v, ok := parseNumber(member)
		if ok && float64(v) == score {
			if _, held := s.logRank(v); held {
				return float64(v), true
			}
			if v != 0 || !math.Signbit(score) {
				s.logInsert(v)
				return 0, false
			}
		}
		s.leaveLog()
	}
	if s.kind == kindPacked {
		var room bool
		if old, existed, room = s.packed().add(member, score); !room {
			s.moveToTree()
		} else if existed {
			return old, true
		}
	}
	if s.kind == kindTree {
		old, existed = s.tree().add(member, score)
	}
	if !existed {
		s.flags |= flagAdded
	}
	return old, existed
}

// Remove takes member out and returns the score it had.
func (s *Set) Remove(member []byte) (score float64, ok bool) {
	switch s.kind {
	case kindPacked:
		return s.packed().remove(member)
	case kindTree:
		return s.tree().remove(member)
	}
	v, ok := parseNumber(member)
	if !ok {
		return 0, false
	}
	rank, ok := s.logRank(v)
	if !ok {
		return 0, false
	}
	s.logRemove(rank, rank+1)
	return float64(v), true
}

// Rank returns how many members stand before member; 0 is the lowest.
func (s *Set) Rank(member []byte) (rank int, ok bool) {
	switch s.kind {
	case kindPacked:
		return s.packed().rank(member)
	case kindTree:
		return s.tree().rank(member)
	}
	v, ok := parseNumber(member)
	if !ok {
		return 0, false
	}
	r, ok := s.logRank(v)
	if !ok {
		return 0, false
	}
	return int(r), true
}

// At returns the entry with the given rank, which must be at least 0 and below
// Len.
func (s *Set) At(rank int) Entry {
	if rank < 0 || rank >= s.Len() {
		panic("zset: rank out of range")
	}
	switch s.kind {
	case kindPacked:
		return s.packed().at(rank)
	case kindTree:
		return s.tree().at(rank)
	}
	return numberEntry(s.logAt(int64(rank)))
}

// ScoreAt is the score of At, without its member: it does not allocate.
func (s *Set) ScoreAt(rank int) float64 {
	if s.kind != kindPacked {
		return s.At(rank).Score
	}
	if rank < 0 || rank >= s.Len() {
		panic("zset: rank out of range")
	}
	p := s.packed()
	c, _ := p.read(p.seek(rank))
	return c.score
}

// RemoveByRank removes the entries with ranks from start up to, not including,
// stop, and returns how many they were. Bounds outside the set are clipped.
func (s *Set) RemoveByRank(start, stop int) int {
	start, stop = max(start, 0), min(stop, s.Len())
	if start >= stop {
		return 0
	}
	switch s.kind {
	case kindPacked:
		s.packed().removeRanks(start, stop)
	case kindTree:
		s.tree().removeRanks(start, stop)
	default:
		s.logRemove(int64(start), int64(stop))
	}
	return stop - start
}

// Random returns an entry, each with the same chance; rnd(n) must return a
// number below n, each with the same chance. The set must not be empty.
func (s *Set) Random(rnd func(n uint64) uint64) Entry {
	return s.At(int(rnd(uint64(s.Len()))))
}

// leaveLog moves a log to packed if it is small enough, else to the tree.
func (s *Set) leaveLog() {
	if s.Len() > packedEntries {
		s.moveToTree()
		return
	}
	p := new(packed)
	s.logAscend(0, func(v int64) bool {
		var b [maxDigits + 3]byte
		p.add(numberEntry(v).AppendMember(b[:0]), float64(v))
		return true
	})
	*s = Set{rest: unsafe.Pointer(p), kind: kindPacked, flags: s.flags}
}

// moveToTree leaves the log, or what a small tree is packed in.
func (s *Set) moveToTree() {
	t := newTree()
	s.Ascend(0, func(e Entry) bool {
		var b [maxDigits + 3]byte
		t.append(e.AppendMember(b[:0]), e.Score)
		return true
	})
	if s.kind == kindPacked {
		t.longest = int(s.packed().longest)
	}
	*s = Set{rest: unsafe.Pointer(t), kind: kindTree, flags: s.flags}
}
