package hash

import (
	"fmt"
	"slices"

	"github.com/zlimit/zlimit/store/alloc"
)

// check walks the whole hash and reports the first broken invariant.
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
		return fmt.Errorf("%d fields in %d bytes are too many for the small form", p.n, len(p.data))
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
		field, value := p.texts(s)
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
		return fmt.Errorf("%d fields counted, %d there", p.n, len(seen))
	}
	return nil
}

func (t *table) check() error {
	var prev *node
	n, texts := 0, int64(0)
	for at := t.first; at != nil; at = at.Value.next {
		if at.Value.prev != prev {
			return fmt.Errorf("field %q does not lead back to the one before", at.Key())
		}
		if t.fields.GetString(at.Hash(), at.Key()) != at {
			return fmt.Errorf("field %q is in the chain but not in the index", at.Key())
		}
		if n++; n > t.fields.Len() {
			return fmt.Errorf("the chain is longer than the %d fields of the index", t.fields.Len())
		}
		prev = at
		texts += alloc.Alone(cap(at.Value.text))
	}
	if texts != t.texts {
		return fmt.Errorf("values of %d bytes, counted are %d", texts, t.texts)
	}
	if t.last != prev || n != t.fields.Len() {
		return fmt.Errorf("the chain has %d fields of %d", n, t.fields.Len())
	}
	return nil
}

// pair is a field as the model and the comparator see it.
type pair struct{ field, value string }

// model is the hash done naively: a slice in order of arrival.
type model struct{ pairs []pair }

func (m *model) find(field string) int {
	return slices.IndexFunc(m.pairs, func(p pair) bool { return p.field == field })
}

func (m *model) set(field, value string) (added bool) {
	if i := m.find(field); i >= 0 {
		m.pairs[i].value = value
		return false
	}
	m.pairs = append(m.pairs, pair{field, value})
	return true
}

func (m *model) remove(field string) bool {
	i := m.find(field)
	if i >= 0 {
		m.pairs = slices.Delete(m.pairs, i, i+1)
	}
	return i >= 0
}

// contents are the fields and values in order.
func (h *Hash) contents() []pair {
	var out []pair
	h.All(func(field, value []byte) bool {
		out = append(out, pair{string(field), string(value)})
		return true
	})
	return out
}

// differs compares a hash with the model: order, values, length and lookups.
func (m *model) differs(h *Hash) error {
	if err := h.check(); err != nil {
		return err
	}
	if got := h.contents(); !slices.Equal(got, m.pairs) {
		return fmt.Errorf("the hash holds %q, the model %q", got, m.pairs)
	}
	if h.Len() != len(m.pairs) {
		return fmt.Errorf("length %d of %d", h.Len(), len(m.pairs))
	}
	for _, p := range m.pairs {
		if value, ok := h.Get([]byte(p.field)); !ok || string(value) != p.value {
			return fmt.Errorf("field %q has %q, %v, the model %q", p.field, value, ok, p.value)
		}
	}
	return nil
}
