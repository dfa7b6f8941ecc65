package commands

import (
	"math/bits"
	"slices"
)

// sortRange puts the items from first up to, not including, end where sorting
// everything would put them. It is the quicksort of Bentley and McIlroy
// (Engineering a Sort Function, 1993), which splits into less, equal and greater
// and leaves alone what lies outside of the range. Equal items come out in an
// order that is its own, and Redis'.
//
// Input can be made for which it takes quadratic time. After more rounds than
// any other input needs, the rest is sorted otherwise, and only the order of
// equal items is another.
func (v *sortVector) sortRange(first, end int) {
	s := rangeSorter{v.items, v.compare, first, end - 1}
	s.sort(0, len(v.items), sortRounds(len(v.items)))
}

// sortRounds is how deep the quicksort of n items may go.
func sortRounds(n int) int { return 4 * bits.Len(uint(n)) }

type rangeSorter struct {
	items       []sortItem
	compare     func(a, b sortItem) int
	first, last int // of the range
}

// sort sorts the n items from at.
func (s rangeSorter) sort(at, n, rounds int) {
	for ; n >= 7; rounds-- {
		if rounds == 0 {
			slices.SortStableFunc(s.items[at:at+n], s.compare)
			return
		}
		less, greater := s.split(at, n)
		if less > 1 && s.meets(at, less) {
			s.sort(at, less, rounds-1)
		}
		if greater <= 1 || !s.meets(at+n-greater, greater) {
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

// meets reports whether the range has any of the n items from at.
func (s rangeSorter) meets(at, n int) bool { return s.first < at+n && s.last >= at }

func (s rangeSorter) order(i, j int) int { return s.compare(s.items[i], s.items[j]) }

func (s rangeSorter) swap(i, j int) { s.items[i], s.items[j] = s.items[j], s.items[i] }

// split moves what is less than a pivot to the left and what is greater to the
// right, and returns how many these are.
func (s rangeSorter) split(at, n int) (less, greater int) {
	s.swap(at, s.pivot(at, n))
	left, right := at+1, at+n-1 // what was not looked at
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
	s.exchange(at, left, min(equalLeft-at, less))
	s.exchange(left, end, min(greater, end-equalRight-1))
	return less, greater
}

// exchange swaps the n items from a with the n before end.
func (s rangeSorter) exchange(a, end, n int) {
	for i := range n {
		s.swap(a+i, end-n+i)
	}
}

// pivot is the middle of three items, each of which is that of three where
// there are many.
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
