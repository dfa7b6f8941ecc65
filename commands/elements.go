package commands

import (
	"iter"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// Elements iterates over a value: the fields of a hash with their values, the members of a sorted set with
// their scores, other elements alone. They are valid only until the next one.
func Elements(v store.Value) iter.Seq2[[]byte, []byte] { return elements[store.TypeOf(v)](v) }

var elements = [store.NumTypes]func(v store.Value) iter.Seq2[[]byte, []byte]{
	store.TypeString: elementsOf(func(s *store.String, yield func(elem, with []byte) bool) {
		yield(s.Bytes(nil), nil)
	}),
	store.TypeList: elementsOf(func(l *list.List, yield func(elem, with []byte) bool) {
		var text []byte
		l.Ascend(0, func(elem string) bool {
			text = append(text[:0], elem...)
			return yield(text, nil)
		})
	}),
	store.TypeSet: elementsOf(func(s *set.Set, yield func(elem, with []byte) bool) {
		var text []byte
		for m := range s.All() {
			if text = m.AppendText(text[:0]); !yield(text, nil) {
				return
			}
		}
	}),
	store.TypeZSet: elementsOf(func(s *zset.Set, yield func(elem, with []byte) bool) {
		var text, score []byte
		s.Ascend(0, func(e zset.Entry) bool {
			text, score = e.AppendMember(text[:0]), resp.AppendFloat(score[:0], e.Score)
			return yield(text, score)
		})
	}),
	store.TypeHash: elementsOf((*hash.Hash).All),
}

func elementsOf[V store.Value](
	all func(v V, yield func(elem, with []byte) bool),
) func(store.Value) iter.Seq2[[]byte, []byte] {
	return func(v store.Value) iter.Seq2[[]byte, []byte] {
		return func(yield func(elem, with []byte) bool) { all(v.(V), yield) }
	}
}
