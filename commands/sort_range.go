package commands

import (
	"math/bits"
	"slices"
)

// sortRange puts the items [first, end) where sorting all items would put them. It is
// the quicksort of Bentley and McIlroy (Engineering a Sort Function, 1993), which
// partitions into less, equal and greater and skips partitions outside of the range.
// It is not stable and orders equal items as Redis does.
//
// Crafted input could make it quadratic. Beyond a depth that no other input reaches,
// it uses another sort, which orders only equal items differently.
func (v *sortVector) sortRange(first, end int) {
	s := rangeSorter{v.items, v.compare, first, end - 1}
	s.sort(0, len(v.items), maxSortDepth(len(v.items)))
}

func maxSortDepth(n int) int { return 4 * bits.Len(uint(n)) }

type rangeSorter struct {
	items       []sortItem
	compare     func(a, b sortItem) int
	first, last int // of the range
}

// sort sorts the n items from index at.
func (s rangeSorter) sort(at, n, depth int) {
	for ; n >= 7; depth-- {
		if depth == 0 {
			slices.SortStableFunc(s.items[at:at+n], s.compare)
			return
		}
		less, greater := s.partition(at, n)
		if less > 1 && s.overlaps(at, less) {
			s.sort(at, less, depth-1)
		}
		if greater <= 1 || !s.overlaps(at+n-greater, greater) {
			return
		}
		at, n = at+n-greater, greater
	}
	for i := at + 1; i < at+n; i++ {
		for j := i; j > at && s.order(j-1, j) > 0; j-- {
			s.swap(j, j-1)
		}
	}
}

// overlaps reports whether the range contains any of the n items from index at.
func (s rangeSorter) overlaps(at, n int) bool { return s.first < at+n && s.last >= at }

func (s rangeSorter) order(i, j int) int { return s.compare(s.items[i], s.items[j]) }

func (s rangeSorter) swap(i, j int) { s.items[i], s.items[j] = s.items[j], s.items[i] }

// partition moves the items less than a pivot to the left, the greater ones to the
// right, and returns their numbers.
func (s rangeSorter) partition(at, n int) (less, greater int) {
	s.swap(at, s.pivot(at, n))
	left, right := at+1, at+n-1 // the items not compared yet
	equalLeft, equalRight := left, right
	for {
		for ; left <= right; left++ {
			order := s.order(left, at)
			if order > 0 {
				break
			}
			if order == 0 {
				s.swap(equalLeft, left)
				equalLeft++
			}
		}
		for ; left <= right; right-- {
			order := s.order(right, at)
			if order < 0 {
				break
			}
			if order == 0 {
				s.swap(right, equalRight)
				equalRight--
			}
		}
		if left > right {
			break
		}
		s.swap(left, right)
		left++
		right--
	}
	end := at + n
	less, greater = left-equalLeft, equalRight-right
	s.swapBlocks(at, left, min(equalLeft-at, less))
	s.swapBlocks(left, end, min(greater, end-equalRight-1))
	return less, greater
}

// swapBlocks swaps the n items from index a with the n items before end.
func (s rangeSorter) swapBlocks(a, end, n int) {
	for i := range n {
		s.swap(a+i, end-n+i)
	}
}

// pivot returns the index of the median of three items or, if n is large, of three
// medians of three.
func (s rangeSorter) pivot(at, n int) int {
	middle := at + n/2
	if n == 7 {
		return middle
	}
	first, last := at, at+n-1
	if n > 40 {
		d := n / 8
		first = s.median(first, first+d, first+2*d)
		middle = s.median(middle-d, middle, middle+d)
		last = s.median(last-2*d, last-d, last)
	}
	return s.median(first, middle, last)
}

func (s rangeSorter) median(a, b, c int) int {
	if s.order(a, b) < 0 {
		switch {
		case s.order(b, c) < 0:
			return b
		case s.order(a, c) < 0:
			return c
		}
		return a
	}
	switch {
	case s.order(b, c) > 0:
		return b
	case s.order(a, c) < 0:
		return a
	}
	return c
}
