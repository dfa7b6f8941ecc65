package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

func TestLastUse(t *testing.T) {
	s := store.New()
	db := s.DB(0)
	k := []byte("k")
	at := func(second int64) int64 { return nowMs + second*1000 }
	require.Nil(t, db.Find(k, at(0)))
	n := db.Put(k, store.NewString([]byte("v")))
	requireIdle := func(second, want int64) {
		t.Helper()
		require.Equal(t, want, db.IdleSeconds(n, at(second)))
	}
	requireIdle(0, 0)
	requireIdle(10, 10)
	db.Peek(k, at(10))
	requireIdle(10, 10)
	db.Lookup(k, at(10))
	requireIdle(12, 2)
	db.Find(k, at(12))
	requireIdle(15, 3)

	s.NoTouch(store.AllShards, true)
	db.Lookup(k, at(15))
	db.Find(k, at(15))
	requireIdle(15, 3)
	db.LookupTouch(k, at(15))
	requireIdle(16, 1)
	s.NoTouch(store.AllShards, false)
	db.Lookup(k, at(20))
	requireIdle(20, 0)

	// A value that replaces another counts as used, like a new key.
	db.Find([]byte("other"), at(30))
	db.Find(k, at(30))
	db.Put(k, store.NewString([]byte("w")))
	requireIdle(31, 1)

	// The stamp moves with the key.
	db.Find(k, at(40))
	db.MoveTo(n, s.DB(1), []byte("moved"))
	n = s.DB(1).Peek([]byte("moved"), at(45))
	requireIdle(45, 5)
}

// 24 bits of seconds are 194 days. The figures are Redis' own: with a clock behind the stamp, one second less
// counts than has passed.
func TestUseClockWraps(t *testing.T) {
	const wrap = 1 << 24
	db := store.New().DB(0)
	n := db.Put([]byte("k"), store.NewString(nil))
	at := func(clock int64) int64 { return (100*wrap + clock) * 1000 }
	for _, c := range []struct{ set, now, idle, want int64 }{
		{1000, 1000, 0, 0},
		{1000, 2000, 10, 1010},
		{1000, 1000, 1000, 1000},
		{1000, wrap + 999, 0, wrap - 2},
		{1000, wrap + 1000, 0, 0},
		{1000, 1000, 1001, 1000 + wrap - 1 - (1000+wrap/2-1)%(wrap-1)},
		{1000, 1000, 1 << 62, 1000 + wrap - 1 - (1000+wrap/2-1)%(wrap-1)},
		{2000, 1000, 0, wrap - 1 - 1000}, // the clock was set back
	} {
		db.SetIdle(n, c.idle, at(c.set))
		require.Equal(t, c.want, db.IdleSeconds(n, at(c.now)), "%+v", c)
		require.Equal(t, "k", n.Key())
	}
}
