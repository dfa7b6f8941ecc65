package hash

// minView is the number of fields from which Freeze returns a view, because copying takes long.
const minView = 256

// A View is a large hash as it was when the view was made, copied in steps while the hash changes. Fields
// that change or are removed before they are copied leave their old value to the view. Step and the hash's
// methods must not run concurrently.
type View struct {
	table    *table
	next     *node            // next node to examine
	left     int              // fields that have yet to be copied
	replaced map[*node][]byte // old values of changed fields that have yet to be copied
	removed  []removedField   // fields that were removed before they were copied
	copied   *Hash
}

type removedField struct {
	field string
	value []byte
}

// Freeze returns a copy of the hash, or a view of a large one.
func (h *Hash) Freeze() (*Hash, *View) {
	if h.Len() < minView || h.large == nil {
		return h.Clone(), nil
	}
	t := h.large
	if t.view != nil { // abandoned: finish it, so that every node is marked
		for t.view.Step(h.Len()) {
		}
	}
	t.epoch = !t.epoch
	t.view = &View{table: t, next: t.first, left: h.Len(), copied: &Hash{longest: h.longest, flags: h.flags}}
	return nil, t.view
}

// Step copies up to count more fields and reports whether there are more.
func (v *View) Step(count int) (more bool) {
	for ; count > 0 && v.left > 0; count-- {
		if v.next == nil || v.left == len(v.removed) {
			v.copyRemoved(count)
			break
		}
		n := v.next
		v.next = n.Value.next
		if n.Mark() == v.table.epoch {
			continue // newer than the view
		}
		n.SetMark(v.table.epoch)
		v.copy(n.Key(), v.value(n))
	}
	if v.left == 0 && v.table.view == v {
		v.table.view = nil
	}
	return v.left > 0
}

func (v *View) copyRemoved(count int) {
	n := min(count, len(v.removed))
	for _, p := range v.removed[:n] {
		v.copy(p.field, p.value)
	}
	v.removed = v.removed[n:]
}

func (v *View) copy(field string, value []byte) {
	v.left--
	v.copied.Set(bytesOf(field), value)
}

// Value returns the copy once Step has returned false. Fields that were removed meanwhile come last.
func (v *View) Value() any { return v.copied }

// value returns the value of a field that has yet to be copied.
func (v *View) value(n *node) []byte {
	if text, ok := v.replaced[n]; ok {
		delete(v.replaced, n)
		return text
	}
	return n.Value.text
}

// beforeSet must be called before a field's value is replaced.
func (v *View) beforeSet(n *node) {
	if _, ok := v.replaced[n]; ok || n.Mark() == v.table.epoch {
		return
	}
	if v.replaced == nil {
		v.replaced = make(map[*node][]byte)
	}
	v.replaced[n], n.Value.text = n.Value.text, nil
}

// beforeRemove must be called before a field is unlinked.
func (v *View) beforeRemove(n *node) {
	if n.Mark() != v.table.epoch {
		n.SetMark(v.table.epoch)
		v.removed = append(v.removed, removedField{n.Key(), v.value(n)})
	}
	if v.next == n {
		v.next = n.Value.next
	}
}
