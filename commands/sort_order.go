package commands

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A sortVector holds the elements of a SORT with their sort keys.
//
// Elements with equal numbers are ordered by their own bytes. Texts are compared
// bytewise and, unless the result is stored, only up to a NUL byte, as by C's strcoll
// in the C locale. Elements with equal texts keep the order of the source, except with
// BY and LIMIT, for which Redis and sortRange use a quicksort that is not stable.
type sortVector struct {
	items     []sortItem
	alpha, by bool
	desc      bool
	pastNUL   bool // compare texts beyond a NUL byte
}

type sortItem struct {
	element string
	score   float64
	text    []byte // nil: no text, which sorts first
}

// vector loads the source and its sort keys. It reports false if one must be a number
// and is not.
func (q *sortQuery) vector(c *Ctx, source sortSource) (v *sortVector, ok bool) {
	v = &sortVector{
		items: make([]sortItem, 0, source.len()),
		alpha: q.alpha, by: q.by != nil, desc: q.desc, pastNUL: q.destination != 0,
	}
	for _, e := range source.slice(0, source.len(), false) {
		v.items = append(v.items, sortItem{element: e})
	}
	if source.plain != nil && !source.plain.IsIntset() && v.alpha {
		// Equal texts keep the order of the source, which is random for a hash table.
		slices.SortFunc(v.items, func(a, b sortItem) int { return strings.Compare(a.element, b.element) })
	}
	ok = true
	for i := range v.items {
		ok = q.setSortKey(c, &v.items[i]) && ok // for all items, because lookups remove expired keys
	}
	return v, ok
}

// setSortKey sets the item's score or text. It reports false if a score is not a number.
func (q *sortQuery) setSortKey(c *Ctx, item *sortItem) bool {
	text := []byte(item.element)
	if q.by != nil {
		var found bool
		if text, found = q.by.lookup(c, item.element); !found {
			return true // sorts as 0, and before every text
		}
	}
	if q.alpha {
		if item.text = text; text == nil {
			item.text = []byte{}
		}
		return true
	}
	var ok bool
	item.score, ok = parseSortFloat(text)
	return ok
}

// sort puts at least the items [first, end) in their final order.
func (v *sortVector) sort(first, end int) {
	switch all := first == 0 && end == len(v.items); {
	case !v.alpha: // no two items are equal, unless their elements are
		slices.SortFunc(v.items, v.compare)
	case v.by && !all:
		v.sortRange(first, end)
	default:
		slices.SortStableFunc(v.items, v.compare)
	}
}

func (v *sortVector) compare(a, b sortItem) (order int) {
	switch {
	case !v.alpha:
		if order = cmp.Compare(a.score, b.score); order == 0 {
			order = strings.Compare(a.element, b.element)
		}
	case a.text == nil || b.text == nil:
		order = cmp.Compare(presence(a.text), presence(b.text))
	case v.pastNUL:
		order = bytes.Compare(a.text, b.text)
	default:
		order = bytes.Compare(cString(a.text), cString(b.text))
	}
	if v.desc {
		return -order
	}
	return order
}

func presence(text []byte) int {
	if text == nil {
		return 0
	}
	return 1
}

func (v *sortVector) elements(first, end int) []string {
	out := make([]string, 0, max(end-first, 0))
	for i := first; i < end; i++ {
		out = append(out, v.items[i].element)
	}
	return out
}
