package hash

// viewFrom is the number of fields from which Freeze is dear.
const viewFrom = 256

// A View is a large hash as it was when it was made, copied in slices while the
// hash changes. What changes or goes before it was copied leaves the view what it
// had. Step and the hash's methods must not run at the same time.
type View struct {
	of    *table
	at    *node            // the next in the chain to be looked at
	left  int              // fields that have yet to be copied
	early map[*node][]byte // values that have been replaced since, of fields to come
	gone  []leaver         // fields that were removed before they were copied
	made  *Hash
}

type leaver struct {
	field string
	value []byte
}

// Freeze returns a copy of the hash, or a view where that would take long.
func (h *Hash) Freeze() (*Hash, *View) {
	if h.Len() < viewFrom || h.large == nil {
		return h.Clone(), nil
	}
	t := h.large
	if t.view != nil { // one that was given up: it has marks to leave
		for t.view.Step(h.Len()) {
		}
	}
	t.epoch = !t.epoch
	t.view = &View{of: t, at: t.first, left: h.Len(), made: &Hash{longest: h.longest, flags: h.flags}}
	return nil, t.view
}

// Step copies count fields more and reports whether there are others.
func (v *View) Step(count int) (more bool) {
	for ; count > 0 && v.left > 0; count-- {
		if v.at == nil || v.left == len(v.gone) {
			v.takeGone(count)
			break
		}
		n := v.at
		v.at = n.Value.next
		if n.Mark() == v.of.epoch {
			continue // it came later
		}
		n.SetMark(v.of.epoch)
		v.copy(n.Key(), v.value(n))
	}
	if v.left == 0 && v.of.view == v {
		v.of.view = nil
	}
	return v.left > 0
}

func (v *View) takeGone(count int) {
	n := min(count, len(v.gone))
	for _, p := range v.gone[:n] {
		v.copy(p.field, p.value)
	}
	v.gone = v.gone[n:]
}

func (v *View) copy(field string, value []byte) {
	v.left--
	v.made.Set(bytesOf(field), value)
}

// Value returns the hash when Step reports no more. Fields that were removed
// meanwhile are the last in its order.
func (v *View) Value() any { return v.made }

// value is what a field had that has yet to be copied.
func (v *View) value(n *node) []byte {
	if text, replaced := v.early[n]; replaced {
		delete(v.early, n)
		return text
	}
	return n.Value.text
}

// changes is called before a field's value is replaced.
func (v *View) changes(n *node) {
	if _, replaced := v.early[n]; replaced || n.Mark() == v.of.epoch {
		return
	}
	if v.early == nil {
		v.early = make(map[*node][]byte)
	}
	v.early[n], n.Value.text = n.Value.text, nil
}

// removes is called before a field is taken out of the chain.
func (v *View) removes(n *node) {
	if n.Mark() != v.of.epoch {
		n.SetMark(v.of.epoch)
		v.gone = append(v.gone, leaver{n.Key(), v.value(n)})
	}
	if v.at == n {
		v.at = n.Value.next
	}
}
