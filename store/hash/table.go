package hash

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
)

// table is the large form: an index of the fields, and their nodes linked in order of insertion. The zero
// value is empty. Linking the nodes, instead of listing them in a slice, keeps every operation O(1).
type table struct {
	fields      dict.Dict[entry]
	valueBytes  int64 // memory of the values
	first, last *node
	view        *View // in progress; or nil
	epoch       bool  // mark of fields that the view need not copy
}

type node = dict.Node[entry]

// entry is the value of a field and its neighbours in order.
type entry struct {
	text       []byte // the value
	prev, next *node
}

// bytesOf returns a field's name without copying it. The result must not be modified.
func bytesOf(name string) []byte { return unsafe.Slice(unsafe.StringData(name), len(name)) }

func (t *table) get(field []byte) (value []byte, ok bool) {
	n := t.fields.Get(dict.Hash(field), field)
	if n == nil {
		return nil, false
	}
	return n.Value.text, true
}

func (t *table) set(field, value []byte) (added bool) {
	n, added := t.fields.Put(dict.Hash(field), field)
	e := &n.Value
	was := cap(e.text)
	if t.view != nil && !added {
		t.view.beforeSet(n)
	}
	if cap(e.text) < len(value) || cap(e.text) > 2*len(value)+64 {
		e.text = make([]byte, 0, len(value))
	}
	t.valueBytes += alloc.Single(cap(e.text)) - alloc.Single(was)
	e.text = append(e.text[:0], value...)
	if !added {
		return false
	}
	n.SetMark(t.epoch)
	e.prev = t.last
	if t.last == nil {
		t.first = n
	} else {
		t.last.Value.next = n
	}
	t.last = n
	return true
}

func (t *table) remove(field []byte) bool {
	n := t.fields.Delete(dict.Hash(field), field)
	if n == nil {
		return false
	}
	if t.view != nil {
		t.view.beforeRemove(n)
	}
	e := &n.Value
	t.valueBytes -= alloc.Single(cap(e.text))
	if e.prev == nil {
		t.first = e.next
	} else {
		e.prev.Value.next = e.next
	}
	if e.next == nil {
		t.last = e.prev
	} else {
		e.next.Value.prev = e.prev
	}
	e.prev, e.next = nil, nil
	return true
}

func (t *table) all(fn func(field, value []byte) bool) {
	for n := t.first; n != nil; n = n.Value.next {
		if !fn(bytesOf(n.Key()), n.Value.text) {
			return
		}
	}
}

func (t *table) clone() *table {
	out := &table{}
	t.all(func(field, value []byte) bool {
		out.set(field, value)
		return true
	})
	return out
}
