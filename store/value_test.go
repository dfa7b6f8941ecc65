package store_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// kinds has a constructor of each kind of value, with one element, and a function that removes it.
var kinds = []struct {
	name  string
	make  func() any
	empty func(data any) // nil: an empty value is kept
}{
	{"string", func() any { return store.NewString([]byte("e")) }, nil},
	{"list", func() any {
		l := &list.List{}
		l.PushBack([]byte("e"))
		return l
	}, func(data any) { data.(*list.List).PopFront() }},
	{"set", func() any {
		s := &set.Set{}
		s.Add([]byte("e"), 10)
		return s
	}, func(data any) { data.(*set.Set).Remove([]byte("e")) }},
	{"hash", func() any {
		h := &hash.Hash{}
		h.Set([]byte("e"), nil)
		return h
	}, func(data any) { data.(*hash.Hash).Delete([]byte("e")) }},
	{"zset", func() any {
		s := &zset.Set{}
		s.Add([]byte("e"), 1)
		return s
	}, func(data any) { data.(*zset.Set).Remove([]byte("e")) }},
}

// requireHolds requires that n holds data and nothing of another type.
func requireHolds(t *testing.T, n *store.Node, data any) {
	t.Helper()
	require.Same(t, data, store.DataOf(n))
	as := func(got any, is bool) {
		t.Helper()
		if is {
			require.Same(t, data, got)
		} else {
			require.Nil(t, got)
		}
	}
	_, is := data.(*store.String)
	as(store.StringOf(n), is)
	_, is = data.(*list.List)
	as(store.ListOf(n), is)
	_, is = data.(*set.Set)
	as(store.SetOf(n), is)
	_, is = data.(*hash.Hash)
	as(store.HashOf(n), is)
	_, is = data.(*zset.Set)
	as(store.ZSetOf(n), is)
}

func TestKeyHoldsEachKind(t *testing.T) {
	s := store.New()
	for _, from := range kinds {
		for _, to := range kinds {
			db := s.DB(0)
			first, second := from.make(), to.make()
			n := db.Put([]byte("k"), first)
			requireHolds(t, n, first)
			requireHolds(t, db.Put([]byte("k"), second), second)
			store.Replace(n, first)
			requireHolds(t, n, first)
			db.MoveTo(n, s.DB(1), []byte("another key"))
			requireHolds(t, s.DB(1).Find([]byte("another key"), nowMs), first)
		}
	}
}

func TestKeyIsRemovedWithLastElement(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			db := store.New().DB(0)
			data := kind.make()
			n := db.Put([]byte("k"), data)
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
	for _, data := range []any{nil, "text", 1, store.String{}, struct{}{}} {
		require.Panics(t, func() { db.Put([]byte("k"), data) }, "%T", data)
	}
}
