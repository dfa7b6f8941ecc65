package commands

import (
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A Kind is what a key holds: the state of an algorithm, or a type of Redis' in
// which something else is.
type Kind uint8

// The kinds, in the order in which INFO lists them.
const (
	KindLog Kind = iota
	KindFixed
	KindGCRA
	KindBuckets
	KindString
	KindList
	KindSet
	KindZSet
	KindHash
	NumKinds
)

func (k Kind) String() string {
	return [...]string{"log", "fixed", "gcra", "buckets", "string", "list", "set", "zset", "hash"}[k]
}

// CountsHits reports whether keys of the kind hold units that can be counted.
func (k Kind) CountsHits() bool { return k == KindLog || k == KindFixed || k == KindBuckets }

// Held is what the keys of one kind hold together.
type Held struct {
	Keys  int64
	Hits  int64 // units held, whether or not they still count; GCRA keeps none
	Bytes int64 // keys and values, about
}

// A Census counts what a keyspace holds, key by key.
type Census struct {
	By  [NumKinds]Held
	ctx Ctx
}

// Reset makes the counts zero.
func (x *Census) Reset() { x.By = [NumKinds]Held{} }

// Add counts a key. Its shard is held; the work is bounded however much the key
// holds: of large collections the size is guessed from their first elements.
func (x *Census) Add(n *store.Node) {
	kind, hits := KindHash, int64(0)
	size := int64(0)
	switch data := store.DataOf(n).(type) {
	case *store.String:
		kind, size = KindString, stringBytes(data)
	case *list.List:
		kind = KindList
		size = guess(data.Len(), 16, func(yield func(int) bool) {
			data.Ascend(0, func(elem string) bool { return yield(len(elem)) })
		})
	case *set.Set:
		kind = KindSet
		if data.IsIntset() {
			size = 8 * int64(data.Len())
			break
		}
		size = guess(data.Len(), 40, func(yield func(int) bool) {
			var text [20]byte
			for m := range data.All() {
				if !yield(len(m.AppendText(text[:0]))) {
					return
				}
			}
		})
	case *zset.Set:
		kind = KindZSet
		if size = 128 * int64(data.Len()); data.IsLog() || data.Len() < guessed {
			size = data.Bytes()
		}
	case *hash.Hash:
		size = guess(data.Len(), 2, func(yield func(int) bool) {
			data.All(func(field, value []byte) bool { return yield(len(field) + len(value)) })
		})
	}
	switch x.ctx.holds(n) {
	case algoLog:
		kind, hits = KindLog, int64(store.ZSetOf(n).Len())
	case algoFixed:
		state, _ := fixedOf(n, store.StringOf(n))
		kind, hits = KindFixed, state.Count
	case algoGCRA:
		kind = KindGCRA
	case algoBuckets:
		b, _ := x.ctx.bucketsOf(store.HashOf(n))
		kind = KindBuckets
		for _, count := range b.Counts {
			hits += count
		}
	}
	h := &x.By[kind]
	h.Keys++
	h.Hits += hits
	h.Bytes += size + int64(n.Bytes())
}

// guessed is from how many elements on a collection's size is guessed.
const guessed = 256

// guess sums the sizes of n elements, each with so much around it, from those of
// the first ones.
func guess(n, around int, sizes func(yield func(size int) bool)) int64 {
	sum, seen := 0, 0
	sizes(func(size int) bool {
		sum += size + around
		seen++
		return seen < guessed
	})
	if seen == 0 {
		return 0
	}
	return int64(sum) * int64(n) / int64(seen)
}
