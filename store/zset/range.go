package zset

import (
	"bytes"
	"math"
	"sort"
)

// A ScoreRange is the scores from Min to Max, excluding open bounds. The bounds may be infinite but not NaN.
// If Min is above Max the range is empty.
type ScoreRange struct {
	Min, Max         float64
	MinOpen, MaxOpen bool
}

// A LexBound is a bound of a range of members. Inf is -1 for a bound below every member and +1 for one above
// (Redis' "-" and "+"); otherwise Value is the bound, excluded if Open.
type LexBound struct {
	Value []byte
	Open  bool
	Inf   int8
}

// A LexRange is the members from Min to Max, in byte order.
type LexRange struct{ Min, Max LexBound }

// RankRangeByScore returns the ranks [start, stop) of the entries within r. If there are none, start equals
// stop.
func (s *Set) RankRangeByScore(r ScoreRange) (start, stop int) {
	switch s.kind {
	case kindPacked:
		p := s.packed()
		start, stop = p.countBelow(r.Min, r.MinOpen), p.countBelow(r.Max, !r.MaxOpen)
	case kindTree:
		t := s.tree()
		start, stop = t.countBelow(r.Min, r.MinOpen), t.countBelow(r.Max, !r.MaxOpen)
	default:
		start = int(s.countBelow(lowest(r.Min, r.MinOpen)))
		stop = int(s.countBelow(lowest(r.Max, !r.MaxOpen)))
	}
	return start, max(start, stop)
}

// lowest returns the lowest number of a log that is at least f, or above f if open.
func lowest(f float64, open bool) int64 {
	switch {
	case f < -maxNumber:
		return -maxNumber
	case f > maxNumber:
		return maxNumber + 1
	}
	up := math.Ceil(f)
	if open && up == f {
		return int64(up) + 1
	}
	return int64(up)
}

// CountByScore returns the number of entries within r.
func (s *Set) CountByScore(r ScoreRange) int {
	start, stop := s.RankRangeByScore(r)
	return stop - start
}

// RemoveByScore removes the entries within r and returns their number.
func (s *Set) RemoveByScore(r ScoreRange) int {
	return s.RemoveByRank(s.RankRangeByScore(r))
}

// belowMin reports whether member is before a range with this lower bound.
func (b LexBound) belowMin(member []byte) bool {
	if b.Inf != 0 {
		return b.Inf > 0
	}
	c := bytes.Compare(member, b.Value)
	return c < 0 || c == 0 && b.Open
}

// aboveMax reports whether member is after a range with this upper bound.
func (b LexBound) aboveMax(member []byte) bool {
	if b.Inf != 0 {
		return b.Inf < 0
	}
	c := bytes.Compare(member, b.Value)
	return c > 0 || c == 0 && b.Open
}

// empty reports whether no member can be within the bounds.
func (r LexRange) empty() bool {
	switch {
	case r.Min.Inf != 0 || r.Max.Inf != 0:
		return r.Min.Inf > r.Max.Inf
	default:
		c := bytes.Compare(r.Min.Value, r.Max.Value)
		return c > 0 || c == 0 && (r.Min.Open || r.Max.Open)
	}
}

// lexWalkMax is the size up to which lexRange walks a set of differing scores from its end, as Redis walks a
// listpack. That has one defined outcome.
const lexWalkMax = 128

// RankRangeByLex returns the ranks [start, stop) of the entries whose member is within r. If there are none,
// start equals stop.
//
// A range of members is meaningful only if all scores are equal; it then costs a binary search. On mixed
// scores this follows Redis 7.0: the range is empty if the last member is before it or the first member is
// after it, and otherwise extends from the first member not before it to the first one after it. Redis walks
// a listpack, as this does up to 128 entries. In a skiplist it descends by comparing members alone, and the
// answer depends on its random levels; above 128 entries this uses a binary search.
func (s *Set) RankRangeByLex(r LexRange) (start, stop int) {
	return s.lexRange(r, false)
}

// RankRangeByLexReverse is RankRangeByLex for a range that is read downwards (ZRANGE BYLEX REV). On mixed
// scores that is another range: it starts, from the top, at the last member not after r and ends above the
// first one before r.
func (s *Set) RankRangeByLexReverse(r LexRange) (start, stop int) {
	return s.lexRange(r, true)
}

func (s *Set) lexRange(r LexRange, fromTop bool) (start, stop int) {
	n := s.Len()
	var scratch [maxMember]byte
	member := func(rank int) []byte { return s.At(rank).AppendMember(scratch[:0]) }
	if n == 0 || r.empty() || r.Min.belowMin(member(n-1)) || r.Max.aboveMax(member(0)) {
		return 0, 0
	}
	if n > lexWalkMax || s.At(0).Score == s.At(n-1).Score {
		start = sort.Search(n, func(rank int) bool { return !r.Min.belowMin(member(rank)) })
		stop = sort.Search(n, func(rank int) bool { return r.Max.aboveMax(member(rank)) })
		return start, max(start, stop)
	}
	if fromTop {
		stop = n
		for stop > 0 && r.Max.aboveMax(member(stop-1)) {
			stop--
		}
		start = stop
		for start > 0 && !r.Min.belowMin(member(start-1)) {
			start--
		}
		return start, stop
	}
	for start < n && r.Min.belowMin(member(start)) {
		start++
	}
	stop = start
	for stop < n && !r.Max.aboveMax(member(stop)) {
		stop++
	}
	return start, stop
}
