package set

import "github.com/zlimit/zlimit/store/dict"

// table has the members of a set that is not an intset.
type table struct {
	dict.Dict[struct{}]
	view  *View // in progress; or nil
	epoch bool  // mark of members that the view need not copy
}

type node = dict.Node[struct{}]

// minView is the number of members from which Freeze returns a view, because copying takes long.
const minView = 256

// A View is a large set as it was when the view was made, copied in steps while the set changes. Members that
// are removed before they are copied are left to the view. Step and the set's methods must not run
// concurrently.
type View struct {
	table   *table
	cursor  uint64
	left    int      // members that have yet to be copied
	removed []string // members that were removed before they were copied
	copied  *Set
}

// Freeze returns a copy of the set, or a view of a large one.
func (s *Set) Freeze() (*Set, *View) {
	if s.Len() < minView || s.table == nil {
		return s.Clone(), nil
	}
	t := s.table
	if t.view != nil { // abandoned: finish it, so that every node is marked
		for t.view.Step(s.Len()) {
		}
	}
	t.epoch = !t.epoch
	t.view = &View{table: t, left: s.Len(), copied: &Set{table: new(table)}}
	return nil, t.view
}

// Step copies about count more members, as it finishes the last bucket, and reports whether there are more.
func (v *View) Step(count int) (more bool) {
	for count > 0 && v.left > len(v.removed) {
		count--
		v.cursor = v.table.Scan(v.cursor, func(n *node) {
			if n.Mark() != v.table.epoch {
				n.SetMark(v.table.epoch)
				v.copy(n.Key())
				count--
			}
		})
	}
	if v.left == len(v.removed) {
		n := max(min(count, v.left), 0)
		for _, member := range v.removed[:n] {
			v.copy(member)
		}
		v.removed = v.removed[n:]
	}
	if v.left == 0 && v.table.view == v {
		v.table.view = nil
	}
	return v.left > 0
}

func (v *View) copy(member string) {
	v.left--
	v.copied.table.PutString(dict.HashString(member), member)
}

// Value returns the copy once Step has returned false.
func (v *View) Value() any { return v.copied }

// afterAdd must be called with the node of every member that Add was called for.
func (t *table) afterAdd(n *node, created bool) {
	if created {
		n.SetMark(t.epoch)
	}
}

// afterRemove must be called with the removed node, or nil if there was none. It reports whether there was.
func (t *table) afterRemove(n *node) bool {
	if n == nil {
		return false
	}
	if t.view != nil && n.Mark() != t.epoch {
		n.SetMark(t.epoch)
		t.view.removed = append(t.view.removed, n.Key())
	}
	return true
}
