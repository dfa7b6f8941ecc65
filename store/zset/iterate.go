package zset

// Ascend calls fn with the entries from startRank upwards until it returns
// false. fn must not change the set.
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
		s.logAscend(int64(startRank), func(v int64) bool { return fn(numberEntry(v)) })
	}
}

// Descend calls fn with the entries from startRank downwards until it returns
// false. fn must not change the set.
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
		s.logDescend(int64(startRank), func(v int64) bool { return fn(numberEntry(v)) })
	}
}

const (
	// scanWhole is how many entries a scan hands out in one call at most,
	// unless they share a bucket: what Redis hands out of a listpack.
	scanWhole = 128

	// scanLog marks the cursor of a log: the rest of it is the score to go on
	// at, counted from the lowest possible one. The hash table's cursors are
	// below its size, so none has this bit.
	scanLog = 1 << 62
)

// Scan hands out a part of the set and returns the cursor to go on with, 0
// when it is through; it begins with cursor 0. An entry that is in the set
// from the first call to the last is handed out at least once, whatever else
// comes, goes, or changes its score in between, and though the set may move
// from one encoding to the other; an entry may come more than once. Any cursor
// is safe to ask with. fn must not change the set.
//
// In a log the cursor is a score, which a member there cannot change. If the
// set has become a tree since, the scan begins again there.
func (s *Set) Scan(cursor uint64, fn func(Entry)) (next uint64) {
	if s.Len() <= scanWhole {
		s.Ascend(0, func(e Entry) bool { fn(e); return true })
		return 0
	}
	if s.kind == kindTree {
		if cursor&scanLog != 0 {
			cursor = 0
		}
		return s.tree().scan(cursor, fn)
	}
	rank := int64(0)
	if cursor&scanLog != 0 {
		rank = s.countBelow(int64(cursor&^scanLog) - maxNumber)
	}
	left := scanWhole
	s.logAscend(rank, func(v int64) bool {
		if left == 0 {
			next = scanLog | uint64(v+maxNumber)
			return false
		}
		left--
		fn(numberEntry(v))
		return true
	})
	return next
}
