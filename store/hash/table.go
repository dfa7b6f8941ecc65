package hash

import (
	"unsafe"

	"github.com/zlimit/zlimit/store/alloc"
	"github.com/zlimit/zlimit/store/dict"
)

// table is the large form: an index of the fields, and their nodes in a chain
// in the order in which they came. The zero value is empty.
//
// A chain through the nodes, rather than a list of them beside: no operation
// then has to move more than one node, however many there are.
type table struct {
	fields      dict.Dict[entry]
	texts       int64 // bytes of the values
	first, last *node
	view        *View // that is being taken; nil: none
	epoch       bool  // what fields are marked with that it need not copy
}

type node = dict.Node[entry]

// entry is what a field has.
type entry struct {
	text       []byte // the value
	prev, next *node
}

// bytesOf returns a field's name without copying it. The name is a string:
// nobody may write to what this returns.
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
		t.view.changes(n)
	}
	if cap(e.text) < len(value) || cap(e.text) > 2*len(value)+64 {
		e.text = make([]byte, 0, len(value))
	}
	t.texts += alloc.Alone(cap(e.text)) - alloc.Alone(was)
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
		t.view.removes(n)
	}
	e := &n.Value
	t.texts -= alloc.Alone(cap(e.text))
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
