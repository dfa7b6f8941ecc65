package zset

// Ascend calls fn with the entries from startRank upwards until fn returns false. fn must not change the set.
func (s *Set) Ascend(startRank int, fn func(Entry) bool) {
	startRank = max(startRank, 0)
	if startRank >= s.Len() {
		return
	}
	switch s.kind {
	case kindPacked:
		s.packed().ascend(startRank, fn)
	case kindTree:
		s.tree().ascend(startRank, fn)
	case kindFrozen:
		s.frozen().ascend(startRank, fn)
	default:
		s.logAscend(int64(startRank), fn)
	}
}

// Descend calls fn with the entries from startRank downwards until fn returns false. fn must not change the
// set.
func (s *Set) Descend(startRank int, fn func(Entry) bool) {
	startRank = min(startRank, s.Len()-1)
	if startRank < 0 {
		return
	}
	switch s.kind {
	case kindPacked:
		s.packed().descend(startRank, fn)
	case kindTree:
		s.tree().descend(startRank, fn)
	default:
		s.logDescend(int64(startRank), fn)
	}
}

const (
	// scanWhole is the most entries that Scan passes to fn in one call, unless they share a bucket. It is
	// also what Redis returns of a listpack at once.
	scanWhole = 128

	// scanLog marks the cursor of a log; the other bits are the next score, relative to the lowest possible
	// one. Cursors of the hash table are below its size, so they never have this bit.
	scanLog = 1 << 62
)

// Scan calls fn with part of the set and returns the cursor of the next call; a scan starts and ends at 0. An
// entry that is in the set during the whole scan is seen at least once, even if its score changes or the set
// changes its encoding; an entry may be seen more than once. Any cursor is valid. fn must not change the set.
//
// In a log the cursor is a score, which cannot change for a member. If the set has become a tree since, the
// scan starts again there.
func (s *Set) Scan(cursor uint64, fn func(Entry)) (next uint64) {
	if s.Len() <= scanWhole {
		s.Ascend(0, func(e Entry) bool { fn(e); return true })
		return 0
	}
	if s.kind == kindTree {
		return s.tree().scan(cursor, fn)
	}
	rank := int64(0)
	if cursor&scanLog != 0 {
		rank = s.countBelow(int64(cursor&^scanLog) - maxNumber)
	}
	left := scanWhole
	s.logAscend(rank, func(e Entry) bool {
		if left == 0 {
			next = scanLog | uint64(e.Number()+maxNumber)
			return false
		}
		left--
		fn(e)
		return true
	})
	return next
}
