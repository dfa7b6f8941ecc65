package store_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/dict"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// kinds has a constructor of each kind of value, with one element, and a function that removes it.
var kinds = []struct {
	name  string
	make  func() store.Value
	empty func(data store.Value) // nil: an empty value is kept
}{
	{"string", func() store.Value { return store.NewString([]byte("e")) }, nil},
	{"list", func() store.Value {
		l := &list.List{}
		l.PushBack([]byte("e"))
		return l
	}, func(data store.Value) { data.(*list.List).PopFront() }},
	{"set", func() store.Value {
		s := &set.Set{}
		s.Add([]byte("e"), 10)
		return s
	}, func(data store.Value) { data.(*set.Set).Remove([]byte("e")) }},
	{"hash", func() store.Value {
		h := &hash.Hash{}
		h.Set([]byte("e"), nil)
		return h
	}, func(data store.Value) { data.(*hash.Hash).Delete([]byte("e")) }},
	{"zset", func() store.Value {
		s := &zset.Set{}
		s.Add([]byte("e"), 1)
		return s
	}, func(data store.Value) { data.(*zset.Set).Remove([]byte("e")) }},
}

// requireHolds requires that n holds what kinds[kind] has made, and nothing of another type: made itself,
// except for sorted sets, which may have moved.
func requireHolds(t *testing.T, n *store.Node, kind int, made store.Value) {
	t.Helper()
	data := store.DataOf(n)
	if _, moves := made.(*zset.Set); moves {
		require.IsType(t, made, data)
	} else {
		require.Same(t, made, data)
	}
	var has bool
	switch v := data.(type) {
	case *store.String:
		has = string(v.Bytes(nil)) == "e"
	case *list.List:
		has = v.Len() == 1
	case *set.Set:
		has = v.Contains([]byte("e"))
	case *hash.Hash:
		_, has = v.Get([]byte("e"))
	case *zset.Set:
		_, has = v.Score([]byte("e"))
	}
	require.True(t, has)
	for i, as := range []any{
		store.StringOf(n), store.ListOf(n), store.SetOf(n), store.HashOf(n), store.ZSetOf(n),
	} {
		if i == kind {
			require.Same(t, data, as)
		} else {
			require.Nil(t, as)
		}
	}
}

func TestKeyHoldsEachKind(t *testing.T) {
	s := store.New()
	for from := range kinds {
		for to := range kinds {
			db := s.DB(0)
			first, second, third := kinds[from].make(), kinds[to].make(), kinds[from].make()
			n := db.Put([]byte("k"), first)
			requireHolds(t, n, from, first)
			requireHolds(t, db.Put([]byte("k"), second), to, second)
			store.Replace(n, third)
			requireHolds(t, n, from, third)
			db.Resized(n)
			db.MoveTo(n, s.DB(1), []byte("another key"))
			requireHolds(t, s.DB(1).Find([]byte("another key"), nowMs), from, third)
			require.Equal(t, s.RecountMemory(), s.Memory())
		}
	}
}

// TestSortedSetInItsNode checks when a sorted set is in its node: if the key was created for one, is not too
// long, and has no far deadline. In each case members and deadline are kept, and memory is counted.
func TestSortedSetInItsNode(t *testing.T) {
	const far = math.MaxInt64
	long := strings.Repeat("k", dict.MaxKeyWithRoom)
	for name, c := range map[string]struct {
		make func(db *store.DB) *store.Node
		here bool
	}{
		"new":      {func(db *store.DB) *store.Node { return db.Put([]byte("k"), letters()) }, true},
		"long":     {func(db *store.DB) *store.Node { return db.Put([]byte(long), letters()) }, true},
		"too long": {func(db *store.DB) *store.Node { return db.Put([]byte(long+"k"), letters()) }, false},
		"made empty": {func(db *store.DB) *store.Node {
			n, s := db.AddZSet([]byte("k"))
			letters().MoveTo(s)
			db.Modified(n)
			return n
		}, true},
		"instead of a string": {func(db *store.DB) *store.Node {
			put(db, "k", "v")
			return db.Put([]byte("k"), letters())
		}, false},
		"instead of another, and a string between": {func(db *store.DB) *store.Node {
			db.Put([]byte("k"), &zset.Set{})
			put(db, "k", "v")
			return db.Put([]byte("k"), letters())
		}, true},
		"instead of an expired one that is kept": {func(db *store.DB) *store.Node {
			db.ExpireAt(db.Put([]byte("k"), letters()), nowMs-1)
			return db.Put([]byte("k"), letters())
		}, true},
		"far deadline": {func(db *store.DB) *store.Node {
			n := db.Put([]byte("k"), letters())
			db.ExpireAt(n, far)
			at, _ := n.Value.ExpireAtMs()
			require.EqualValues(t, far, at)
			return n
		}, false},
		"far deadline, then none": {func(db *store.DB) *store.Node {
			n := db.Put([]byte("k"), letters())
			db.ExpireAt(n, far)
			db.Persist(n)
			db.Modified(n)
			return n
		}, false},
		"replaced, with a far deadline": {func(db *store.DB) *store.Node {
			n := db.Put([]byte("k"), letters())
			db.ExpireAt(n, far)
			store.Replace(n, letters())
			return n
		}, false},
		"replaced": {func(db *store.DB) *store.Node {
			n := db.Put([]byte("k"), letters())
			db.ExpireAt(n, nowMs)
			store.Replace(n, letters())
			at, _ := n.Value.ExpireAtMs()
			require.EqualValues(t, nowMs, at)
			return n
		}, true},
		"renamed": {func(db *store.DB) *store.Node {
			n := db.Put([]byte("old"), letters())
			db.ExpireAt(n, nowMs)
			db.Rename(n, []byte("k"))
			return db.Find([]byte("k"), nowMs)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := store.New()
			n := c.make(s.DB(0))
			runtime.GC()
			set := store.ZSetOf(n)
			require.Same(t, set, store.DataOf(n))
			require.Equal(t, 26, set.Len())
			score, ok := set.Score([]byte("z"))
			require.True(t, ok)
			require.EqualValues(t, 'z', score)
			begin, at := uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(set))
			require.Equal(t, c.here, at < begin && begin-at == dict.RoomBytes)
			require.Equal(t, s.RecountMemory(), s.Memory())
			s.DB(0).Delete(n)
			require.Equal(t, s.RecountMemory(), s.Memory())
		})
	}
}

// letters returns a sorted set of the letters from a to z.
func letters() *zset.Set {
	s := &zset.Set{}
	for c := byte('a'); c <= 'z'; c++ {
		s.Add([]byte{c}, float64(c))
	}
	return s
}

func TestKeyIsRemovedWithLastElement(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			db := store.New().DB(0)
			n := db.Put([]byte("k"), kind.make())
			data := store.DataOf(n)
			db.Modified(n)
			require.Equal(t, 1, db.Len())
			if kind.empty == nil {
				data.(*store.String).Set(nil)
				db.Modified(n)
				require.Equal(t, 1, db.Len())
				return
			}
			kind.empty(data)
			db.Modified(n)
			require.Zero(t, db.Len())
		})
	}
}

// The garbage collector must follow the bare pointers.
func TestValuesSurviveGC(t *testing.T) {
	db := store.New().DB(0)
	for i := range 1000 {
		db.Put(fmt.Append(nil, "k", i), kinds[i%len(kinds)].make())
		if i%100 == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	for i := range 1000 {
		n := db.Find(fmt.Append(nil, "k", i), nowMs)
		if kind := kinds[i%len(kinds)]; kind.empty != nil {
			kind.empty(store.DataOf(n))
			db.Modified(n)
		} else {
			require.Equal(t, "e", string(store.StringOf(n).Bytes(nil)))
		}
	}
	require.Equal(t, 1000/len(kinds), db.Len(), "strings remain")
}

func TestOtherTypesAreRejected(t *testing.T) {
	db := store.New().DB(0)
	for _, data := range []store.Value{nil, struct{ store.Value }{}} {
		require.Panics(t, func() { db.Put([]byte("k"), data) }, "%T", data)
	}
}
