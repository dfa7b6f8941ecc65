package commands

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A sortVector is the elements of a SORT, each with what is compared.
//
// Numbers that are equal are told apart by the bytes of their elements. Texts
// are compared byte by byte; where the result is answered and not stored only up
// to a NUL byte, as C's strcoll does in the C locale. Texts that are equal then
// keep the order of the source, but with BY and a LIMIT: Redis then runs the
// quicksort of sortRange, which does not, and which we run as well.
type sortVector struct {
	items     []sortItem
	alpha, by bool
	desc      bool
	whole     bool // texts are compared beyond a NUL byte
}

type sortItem struct {
	element string
	score   float64
	text    []byte // nil: there is none, which comes before every other
}

// vector loads the source. It is not ok where something that is to be compared
// as a number is none.
func (q *sortQuery) vector(c *Ctx, source sortSource) (v *sortVector, ok bool) {
	v = &sortVector{
		items: make([]sortItem, 0, source.len()),
		alpha: q.alpha, by: q.by != nil, desc: q.desc, whole: q.destination != 0,
	}
	for _, e := range source.slice(0, source.len(), false) {
		v.items = append(v.items, sortItem{element: e})
	}
	if source.plain != nil && !source.plain.IsIntset() && v.alpha {
		// Equal texts keep the order of the source, and that of a hash table is chance.
		slices.SortFunc(v.items, func(a, b sortItem) int { return strings.Compare(a.element, b.element) })
	}
	ok = true
	for i := range v.items {
		ok = q.weigh(c, &v.items[i]) && ok // all of them: keys that are overdue go
	}
	return v, ok
}

// weigh finds what an item is compared by. It reports false where that is no
// number and has to be one.
func (q *sortQuery) weigh(c *Ctx, item *sortItem) bool {
	text := []byte(item.element)
	if q.by != nil {
		var found bool
		if text, found = q.by.lookup(c, item.element); !found {
			return true // like 0, and before every text
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

// sort puts at least the items from first up to, not including, end in order.
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
	case v.whole:
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

// elements returns the elements from first up to, not including, end.
func (v *sortVector) elements(first, end int) []string {
	out := make([]string, 0, max(end-first, 0))
	for i := first; i < end; i++ {
		out = append(out, v.items[i].element)
	}
	return out
}
