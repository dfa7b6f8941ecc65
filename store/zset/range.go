package zset

import (
	"bytes"
	"math"
	"sort"
)

// ScoreRange is the scores from Min to Max; an open bound is not part of it.
// The bounds may be infinite, not NaN. Min above Max is an empty range.
type ScoreRange struct {
	Min, Max         float64
	MinOpen, MaxOpen bool
}

// LexBound is one bound of a range of members. Inf -1 stands below and +1
// above every member (Redis' "-" and "+"); otherwise Value is the bound, part
// of the range unless Open.
type LexBound struct {
	Value []byte
	Open  bool
	Inf   int8
}

// LexRange is the members from Min to Max, in the order of their bytes.
type LexRange struct{ Min, Max LexBound }

// RankRangeByScore returns the ranks of the entries within r: from start up
// to, not including, stop. Where there are none, start equals stop.
func (s *Set) RankRangeByScore(r ScoreRange) (start, stop int) {
	switch s.kind {
	case kindPacked:
		p := s.packed()
		start, stop = p.countBelow(r.Min, r.MinOpen), p.countBelow(r.Max, !r.MaxOpen)
	case kindTree:
		t := s.tree()
		start, stop = t.countBelow(r.Min, r.MinOpen), t.countBelow(r.Max, !r.MaxOpen)
	default:
		start, stop = int(s.countBelow(lowest(r.Min, r.MinOpen))), int(s.countBelow(lowest(r.Max, !r.MaxOpen)))
	}
	return start, max(start, stop)
}

// lowest returns the lowest number a log can hold that is at least f, or above
// f if open.
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

// CountByScore returns how many entries are within r.
func (s *Set) CountByScore(r ScoreRange) int {
	start, stop := s.RankRangeByScore(r)
	return stop - start
}

// RemoveByScore removes the entries within r and returns how many they were.
func (s *Set) RemoveByScore(r ScoreRange) int {
	return s.RemoveByRank(s.RankRangeByScore(r))
}

// belowMin reports whether member stands before a range with this lower bound.
func (b LexBound) belowMin(member []byte) bool {
	if b.Inf != 0 {
		return b.Inf > 0
	}
	c := bytes.Compare(member, b.Value)
	return c < 0 || c == 0 && b.Open
}

// aboveMax reports whether member stands after a range with this upper bound.
func (b LexBound) aboveMax(member []byte) bool {
	if b.Inf != 0 {
		return b.Inf < 0
	}
	c := bytes.Compare(member, b.Value)
	return c > 0 || c == 0 && b.Open
}

// empty reports whether the bounds alone leave nothing.
func (r LexRange) empty() bool {
	switch {
	case r.Min.Inf != 0 || r.Max.Inf != 0:
		return r.Min.Inf > r.Max.Inf
	default:
		c := bytes.Compare(r.Min.Value, r.Max.Value)
		return c > 0 || c == 0 && (r.Min.Open || r.Max.Open)
	}
}

// lexWalkMax is the longest set that a range of members walks from its end
// where scores differ: Redis' listpack, whose walk has one defined outcome.
const lexWalkMax = 128

// RankRangeByLex returns the ranks of the entries whose member is within r:
// from start up to, not including, stop. Where there are none, start equals
// stop.
//
// A range of members has a meaning only if all scores are the same; then this
// costs a binary search. On mixed scores it does as Redis 7.0 does: nothing if
// the last member stands before the range or the first one after it, else from
// the first member not before the range up to the first one after it. Redis
// walks there in a listpack, as this does up to 128 entries, and descends by
// comparing members alone in a skiplist, where the answer depends on its
// random levels; above 128 entries this searches by halves in the same way.
func (s *Set) RankRangeByLex(r LexRange) (start, stop int) {
	return s.lexRange(r, false)
}

// RankRangeByLexFromTop is RankRangeByLex for a range read downwards (ZRANGE
// BYLEX REV). On mixed scores that is another range: it ends, going down, at
// the last member not after r and begins above the first one before r.
func (s *Set) RankRangeByLexFromTop(r LexRange) (start, stop int) {
	return s.lexRange(r, true)
}

func (s *Set) lexRange(r LexRange, fromTop bool) (start, stop int) {
	n := s.Len()
	var scratch [maxDigits + 3]byte
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
