package zset

import (
	"math"
	"unsafe"
)

// A Set is a sorted set. The zero value is empty, in log encoding, and owns no memory beyond itself. It must
// not be copied after first use (see Clone). It is not safe for concurrent use. Methods that change nothing
// may run concurrently with each other, except Rank, At and the ranges: on a tree they may refresh an index.
type Set struct {
	first int64 // log: the lowest score

	n     uint32 // kindBlock: number of entries
	used  uint8  // kindBlock: bytes of tokens
	tail  uint8  // log: position of the run token of the last block's last score, or its end if there is none
	kind  uint8
	flags uint8

	// body is, by kind: the last score, the turn and the tokens of a log of one block, as an array of 16 to
	// 128 bytes (its size is in flags), or nil while none is needed; a *logBlocks; a *packed; a *tree. It is
	// a bare pointer, not a field for each nor an interface, because a server has a million of these with a
	// hit or two in them.
	body unsafe.Pointer
}

// BodyOffset is the offset of a Set's only pointer, which is its last field. Package store relies on it.
const BodyOffset = unsafe.Offsetof(Set{}.body)

// MoveTo replaces to by the Set. The Set must not be used afterwards: most methods panic.
func (s *Set) MoveTo(to *Set) {
	*to = *s
	*s = Set{kind: kindTree} // without a tree
}

const (
	kindBlock  = iota // log of one block, in the Set itself
	kindBlocks        // log of several blocks
	kindPacked        // small tree in one byte string
	kindTree
	kindFrozen // result of Freeze on a tree
)

const (
	flagAdded    = 1 << iota // a member was added since the last NoteEncoding
	flagSkiplist             // Redis would have left the listpack
	flagWeighted             // log: it has a turn, see weights.go

	bufShift = iota // the bits above are the size class of a lone block's array
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

// IsLog reports whether the set is in log encoding: every member so far was the canonical decimal of its own
// score, or from some score on that decimal, a colon and a number of units. A set that left the log does not
// return to it.
func (s *Set) IsLog() bool { return s.kind <= kindBlocks }

// Each of these requires the kind of its name.
func (s *Set) blocks() *logBlocks { return (*logBlocks)(s.body) }
func (s *Set) packed() *packed    { return (*packed)(s.body) }
func (s *Set) tree() *tree        { return (*tree)(s.body) }

// Score returns the score of member. It does not allocate.
func (s *Set) Score(member []byte) (score float64, ok bool) {
	switch s.kind {
	case kindPacked:
		return s.packed().score(member)
	case kindTree:
		return s.tree().score(member)
	}
	_, v, ok := s.logFind(member)
	return float64(v), ok
}

// Add sets the score of member and returns its old score. An equal score changes nothing, -0 for 0 included,
// as in Redis. Infinite scores are valid. Add panics on NaN, which has no place in the order. The member is
// copied if it is stored as bytes.
func (s *Set) Add(member []byte, score float64) (old float64, existed bool) {
	if math.IsNaN(score) {
		panic("zset: score is not a number")
	}
	if s.IsLog() {
		if v, units, ok := ParseMember(member); ok && float64(v) == score {
			if _, taken := s.logRank(v); !taken {
				if (v != 0 || !math.Signbit(score)) && s.logInsert(v, units) {
					return 0, false
				}
			} else if _, held := s.logHas(v, units); held {
				return float64(v), true
			}
		}
		s.convertLog()
	}
	if s.kind == kindPacked {
		var fits bool
		if old, existed, fits = s.packed().add(member, score); !fits {
			s.convertToTree()
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

// Remove removes member and returns its score.
func (s *Set) Remove(member []byte) (score float64, ok bool) {
	switch s.kind {
	case kindPacked:
		return s.packed().remove(member)
	case kindTree:
		return s.tree().remove(member)
	}
	rank, v, ok := s.logFind(member)
	if !ok {
		return 0, false
	}
	s.logRemove(rank, rank+1)
	return float64(v), true
}

// Rank returns the number of members before member.
func (s *Set) Rank(member []byte) (rank int, ok bool) {
	switch s.kind {
	case kindPacked:
		return s.packed().rank(member)
	case kindTree:
		return s.tree().rank(member)
	}
	r, _, ok := s.logFind(member)
	return int(r), ok
}

// At returns the entry with the given rank, which must be at least 0 and below Len.
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
	return s.logEntry(s.logAt(int64(rank)))
}

// ScoreAt returns the score of At without the member. It does not allocate.
func (s *Set) ScoreAt(rank int) float64 {
	if rank < 0 || rank >= s.Len() {
		panic("zset: rank out of range")
	}
	switch {
	case s.IsLog():
		return float64(s.logAt(int64(rank)))
	case s.kind == kindTree:
		return s.At(rank).Score
	}
	p := s.packed()
	c, _ := p.read(p.seek(rank))
	return c.score
}

// RemoveByRank removes the entries with ranks in [start, stop) and returns their number. Bounds outside the
// set are clipped.
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

// Random returns an entry; rnd(n) must return a number below n. If rnd is uniform, so is Random. The set must
// not be empty.
func (s *Set) Random(rnd func(n uint64) uint64) Entry {
	return s.At(int(rnd(uint64(s.Len()))))
}

// convertLog converts a log to packed if it is small enough, and to a tree otherwise.
func (s *Set) convertLog() {
	if s.Len() > packedEntries {
		s.convertToTree()
		return
	}
	p := new(packed)
	s.logAscend(0, func(e Entry) bool {
		var b [maxMember]byte
		p.add(e.AppendMember(b[:0]), e.Score)
		return true
	})
	*s = Set{body: unsafe.Pointer(p), kind: kindPacked, flags: s.flags &^ flagWeighted}
}

// convertToTree converts a log or a packed tree to a tree.
func (s *Set) convertToTree() {
	if s.IsLog() && s.Len() > deferFrom {
		log := *s
		*s = Set{body: unsafe.Pointer(newUnlistedTree(&log)), kind: kindTree, flags: s.flags &^ flagWeighted}
		return
	}
	t := newTree()
	s.Ascend(0, func(e Entry) bool {
		var b [maxMember]byte
		t.append(e.AppendMember(b[:0]), e.Score)
		return true
	})
	if s.kind == kindPacked {
		t.longest = int(s.packed().longest)
	}
	*s = Set{body: unsafe.Pointer(t), kind: kindTree, flags: s.flags &^ flagWeighted}
}
