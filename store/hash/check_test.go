package hash

import (
	"fmt"
	"slices"

	"github.com/zlimit/zlimit/store/alloc"
)

// check checks the invariants of the whole hash.
func (h *Hash) check() error {
	if h.large != nil {
		if h.small.n != 0 || h.small.data != nil {
			return fmt.Errorf("a table beside %d packed fields", h.small.n)
		}
		return h.large.check()
	}
	return h.small.check()
}

func (p *packed) check() error {
	if p.n > smallFields || len(p.data) > smallBytes {
		return fmt.Errorf("%d fields in %d bytes are too many for packed", p.n, len(p.data))
	}
	if cap(p.data) > 128 && len(p.data) <= cap(p.data)/4 {
		return fmt.Errorf("%d bytes used of %d", len(p.data), cap(p.data))
	}
	seen := map[string]bool{}
	pos := 0
	for pos < len(p.data) {
		s := p.read(pos)
		if s.next > len(p.data) || s.fieldEnd > s.next {
			return fmt.Errorf("the entry at %d of %d bytes ends at %d", pos, len(p.data), s.next)
		}
		field, value := p.fieldValue(s)
		if seen[string(field)] {
			return fmt.Errorf("field %q twice", field)
		}
		if s.next-s.start != entrySize(field, value) {
			return fmt.Errorf("the entry of %q takes %d bytes", field, s.next-s.start)
		}
		seen[string(field)] = true
		pos = s.next
	}
	if len(seen) != int(p.n) {
		return fmt.Errorf("n is %d, there are %d fields", p.n, len(seen))
	}
	return nil
}

func (t *table) check() error {
	var prev *node
	n, valueBytes := 0, int64(0)
	for at := t.first; at != nil; at = at.Value.next {
		if at.Value.prev != prev {
			return fmt.Errorf("field %q is not linked to the previous one", at.Key())
		}
		if t.fields.GetString(at.Hash(), at.Key()) != at {
			return fmt.Errorf("field %q is in the chain but not in the index", at.Key())
		}
		if n++; n > t.fields.Len() {
			return fmt.Errorf("the chain is longer than the %d fields of the index", t.fields.Len())
		}
		prev = at
		valueBytes += alloc.Single(cap(at.Value.text))
	}
	if valueBytes != t.valueBytes {
		return fmt.Errorf("values of %d bytes, accounted are %d", valueBytes, t.valueBytes)
	}
	if t.last != prev || n != t.fields.Len() {
		return fmt.Errorf("the chain has %d fields of %d", n, t.fields.Len())
	}
	return nil
}

// modelEntry is a field in the form that compare uses.
type modelEntry struct{ field, value string }

// model is a naive implementation of the hash: a slice in order of insertion.
type model struct{ entries []modelEntry }

func (m *model) find(field string) int {
	return slices.IndexFunc(m.entries, func(p modelEntry) bool { return p.field == field })
}

func (m *model) set(field, value string) (added bool) {
	if i := m.find(field); i >= 0 {
		m.entries[i].value = value
		return false
	}
	m.entries = append(m.entries, modelEntry{field, value})
	return true
}

func (m *model) remove(field string) bool {
	i := m.find(field)
	if i >= 0 {
		m.entries = slices.Delete(m.entries, i, i+1)
	}
	return i >= 0
}

// contents returns the fields and values in order.
func (h *Hash) contents() []modelEntry {
	var out []modelEntry
	h.All(func(field, value []byte) bool {
		out = append(out, modelEntry{string(field), string(value)})
		return true
	})
	return out
}

// compare compares a hash with the model: order, values, length and lookups.
func (m *model) compare(h *Hash) error {
	if err := h.check(); err != nil {
		return err
	}
	if got := h.contents(); !slices.Equal(got, m.entries) {
		return fmt.Errorf("the hash has %q, the model %q", got, m.entries)
	}
	if h.Len() != len(m.entries) {
		return fmt.Errorf("length %d of %d", h.Len(), len(m.entries))
	}
	for _, p := range m.entries {
		if value, ok := h.Get([]byte(p.field)); !ok || string(value) != p.value {
			return fmt.Errorf("field %q has %q, %v, the model %q", p.field, value, ok, p.value)
		}
	}
	return nil
}
