package set

import "github.com/zlimit/zlimit/store/dict"

// table is the members of a set that is no intset.
type table struct {
	dict.Dict[struct{}]
	view  *View // that is being taken; nil: none
	epoch bool  // what members are marked with that it need not copy
}

type node = dict.Node[struct{}]

// viewFrom is the number of members from which Freeze is dear.
const viewFrom = 256

// A View is a large set as it was when it was made, copied in slices while the
// set changes; a member that goes before it was copied is left to the view. Step
// and the set's methods must not run at the same time.
type View struct {
	of     *table
	cursor uint64
	left   int      // members that have yet to be copied
	gone   []string // members that were removed before they were copied
	made   *Set
}

// Freeze returns a copy of the set, or a view where that would take long.
func (s *Set) Freeze() (*Set, *View) {
	if s.Len() < viewFrom || s.table == nil {
		return s.Clone(), nil
	}
	t := s.table
	if t.view != nil { // one that was given up: it has marks to leave
		for t.view.Step(s.Len()) {
		}
	}
	t.epoch = !t.epoch
	t.view = &View{of: t, left: s.Len(), made: &Set{table: new(table)}}
	return nil, t.view
}

// Step copies count members more, and what shares a bucket with the last, and
// reports whether there are others.
func (v *View) Step(count int) (more bool) {
	for count > 0 && v.left > len(v.gone) {
		count--
		v.cursor = v.of.Scan(v.cursor, func(n *node) {
			if n.Mark() != v.of.epoch {
				n.SetMark(v.of.epoch)
				v.copy(n.Key())
				count--
			}
		})
	}
	if v.left == len(v.gone) {
		n := max(min(count, v.left), 0)
		for _, member := range v.gone[:n] {
			v.copy(member)
		}
		v.gone = v.gone[n:]
	}
	if v.left == 0 && v.of.view == v {
		v.of.view = nil
	}
	return v.left > 0
}

func (v *View) copy(member string) {
	v.left--
	v.made.table.PutString(dict.HashString(member), member)
}

// Value returns the set when Step reports no more.
func (v *View) Value() any { return v.made }

// added is called with a member that was put in, or was there.
func (t *table) added(n *node, created bool) {
	if created {
		n.SetMark(t.epoch)
	}
}

// removed is called with a member that was taken out, nil where it was not
// there, and reports which.
func (t *table) removed(n *node) bool {
	if n == nil {
		return false
	}
	if t.view != nil && n.Mark() != t.epoch {
		n.SetMark(t.epoch)
		t.view.gone = append(t.view.gone, n.Key())
	}
	return true
}
