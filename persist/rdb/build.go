package rdb

import (
	"cmp"
	"math"
	"slices"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// A builder builds values of the keyspace from decoded pieces. A value gets the
// encoding that Redis gives it on loading.
type builder struct {
	limits Limits

	list *list.List
	set  *set.Set
	hash *hash.Hash
	zset zsetBuilder

	add func(b *builder, elem []byte) error // adds an element to the current value
}

// reset forgets the last value.
func (b *builder) reset() {
	*b = builder{limits: b.limits, zset: zsetBuilder{units: b.zset.units[:0]}}
}

// end returns the value. Redis keeps a pack unless it has too many elements; it checks
// element lengths only for elements that come one by one.
func (b *builder) end(pack bool) (store.Value, error) {
	l := b.limits
	if pack {
		l.HashValue, l.ZSetValue = math.MaxInt64, math.MaxInt64
	}
	switch {
	case b.list != nil:
		return b.list, nil
	case b.set != nil:
		return b.set, nil
	case b.hash != nil:
		b.hash.NoteEncoding(l.HashEntries, l.HashValue)
		return b.hash, nil
	}
	return b.zset.end(l)
}

func (b *builder) elements(values [][]byte) error {
	if b.hash == nil {
		for _, v := range values {
			if err := b.add(b, v); err != nil {
				return err
			}
		}
		return nil
	}
	for i := 0; i+1 < len(values); i += 2 {
		if !b.hash.Set(values[i], values[i+1]) {
			return corrupt(badDuplicate)
		}
	}
	return nil
}

func addToList(b *builder, elem []byte) error {
	b.list.PushBack(elem)
	return nil
}

func addToSet(b *builder, elem []byte) error {
	if !b.set.Add(elem, clip(b.limits.SetInts)) {
		return corrupt(badDuplicate)
	}
	return nil
}

// A zsetBuilder collects the entries of a log, which may come in any order, and builds
// the set once it has all: a log grows cheaply only at its end. It builds the set at
// the first member of another form.
type zsetBuilder struct {
	units    []int64         // scores of plain entries
	weighted []weightedEntry // the others
	set      *zset.Set
	negative []string // members with score -0, as far as they may matter
}

// maxNegative exceeds the number of members that a listpack is likely to have.
const maxNegative = 1 << 12

// addUnits adds units. They come before any other member.
func (z *zsetBuilder) addUnits(units []int64) error {
	z.units = append(z.units, units...)
	return nil
}

func (z *zsetBuilder) add(member string, score float64) error {
	if math.IsNaN(score) {
		return corrupt(badScore)
	}
	if z.set == nil {
		n, units, ok := zset.ParseMember(bytesOf(member))
		if ok && float64(n) == score && (n != 0 || !math.Signbit(score)) {
			if units == 0 {
				z.units = append(z.units, n)
			} else {
				z.weighted = append(z.weighted, weightedEntry{n, units})
			}
			return nil
		}
		if err := z.flushUnits(); err != nil {
			return err
		}
	}
	if _, existed := z.set.Add(bytesOf(member), score); existed {
		return corrupt(badDuplicate)
	}
	if score == 0 && math.Signbit(score) && len(z.negative) < maxNegative {
		z.negative = append(z.negative, member)
	}
	return nil
}

// flushUnits builds the set from the units.
func (z *zsetBuilder) flushUnits() error {
	z.set = &zset.Set{}
	slices.Sort(z.units)
	for i := 0; i < len(z.units); {
		n := 1
		for i+n < len(z.units) && z.units[i+n] == z.units[i]+int64(n) {
			n++
		}
		if i+n < len(z.units) && z.units[i+n] == z.units[i+n-1] {
			return corrupt(badDuplicate)
		}
		z.set.AppendRun(z.units[i], n)
		i += n
	}
	if err := z.flushWeighted(); err != nil {
		return err
	}
	const keep = 1 << 16
	if z.units = z.units[:0]; cap(z.units) > keep {
		z.units = nil
	}
	return nil
}

// A weightedEntry is an entry of a log whose member has its units.
type weightedEntry struct{ score, units int64 }

// flushWeighted adds the weighted entries behind the plain ones. If they are no log, Add makes a tree of the
// set, as for any members.
func (z *zsetBuilder) flushWeighted() error {
	slices.SortFunc(z.weighted, func(a, b weightedEntry) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.units, b.units))
	})
	var member []byte
	for _, e := range z.weighted {
		member = zset.AppendMember(member[:0], e.score, e.units)
		if _, existed := z.set.Add(member, float64(e.score)); existed {
			return corrupt(badDuplicate)
		}
	}
	z.weighted = nil
	return nil
}

// end returns the set. Redis turns a score of -0 into 0 in a listpack.
func (z *zsetBuilder) end(l Limits) (*zset.Set, error) {
	if z.set == nil {
		if err := z.flushUnits(); err != nil {
			return nil, err
		}
	}
	z.set.NoteEncoding(clip(l.ZSetEntries), clip(l.ZSetValue))
	if z.set.IsListpack() {
		for _, member := range z.negative {
			z.set.Remove(bytesOf(member))
			z.set.Add(bytesOf(member), 0)
		}
	}
	return z.set, nil
}

func clip(n int64) int { return int(min(n, math.MaxInt32)) }
