package store

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// waiterOwners returns the owners of the waiters at a key.
func waiterOwners(s *Store, db int, key string) []any {
	var out []any
	for w := range s.Waiters(ReadyKey{DB: db, Key: key}) {
		out = append(out, w.Owner)
	}
	return out
}

func readyNames(ready []ReadyKey) []string {
	var out []string
	for _, r := range ready {
		out = append(out, r.Key)
	}
	return out
}

func byteSlices(words ...string) [][]byte {
	var out [][]byte
	for _, w := range words {
		out = append(out, []byte(w))
	}
	return out
}

func TestWaitersQueue(t *testing.T) {
	s := New()
	s.Lock(AllShards)
	defer s.Unlock(AllShards)
	db := s.DB(0)
	a, b, c := &Waiter{Owner: "a"}, &Waiter{Owner: "b"}, &Waiter{Owner: "c"}
	db.Wait(a, byteSlices("x", "y", "x"), nil)
	db.Wait(b, byteSlices("y"), nil)
	db.Wait(c, byteSlices("y", "z"), nil)
	require.Equal(t, []any{"a", "b", "c"}, waiterOwners(s, 0, "y"))
	require.Equal(t, []any{"a"}, waiterOwners(s, 0, "x"), "a key that is named twice is one entry")
	require.Empty(t, waiterOwners(s, 1, "y"))
	require.Equal(t, ShardOf([]byte("x"))|ShardOf([]byte("y")), a.Shards())

	require.True(t, b.Claim())
	require.False(t, b.Claim())
	require.True(t, b.Claimed())
	s.RemoveWaiter(b)
	require.Equal(t, []any{"a", "c"}, waiterOwners(s, 0, "y"))
	s.RemoveWaiter(a)
	s.RemoveWaiter(c)
	for i := range s.waiting.queues {
		require.Empty(t, s.waiting.queues[i], "nothing is kept for keys without waiters")
		require.Empty(t, s.waiting.targets[i])
	}
	require.Zero(t, s.waiting.waiters.Load())
}

func TestReadyKeysAreInOrderOfCreation(t *testing.T) {
	s := New()
	s.Lock(AllShards)
	defer s.Unlock(AllShards)
	db := s.DB(0)
	names := []string{"k1", "k2", "k3", "k4", "k5", "k6"}
	db.Wait(&Waiter{}, byteSlices(names...), nil)

	slices.Reverse(names)
	for _, k := range names {
		db.Put([]byte(k), NewInt(1))
		db.Put([]byte(k), NewInt(2)) // exists already
		db.Put([]byte("other"+k), NewInt(1))
	}
	require.Equal(t, names, readyNames(s.DrainReady(AllShards)))
	require.Empty(t, s.DrainReady(AllShards))

	db.Delete(db.Find([]byte("k1"), 0))
	db.Put([]byte("k1"), NewInt(1))
	require.Empty(t, s.DrainReady(AllShards&^ShardOf([]byte("k1"))), "not in the given shards")
	require.Equal(t, []string{"k1"}, readyNames(s.DrainReady(ShardOf([]byte("k1")))))
}

func TestReadyByRenameMoveAndSwap(t *testing.T) {
	s := New()
	s.Lock(AllShards)
	defer s.Unlock(AllShards)
	w := &Waiter{}
	s.DB(0).Wait(w, byteSlices("k", "m"), nil)

	n := s.DB(0).Put([]byte("other"), NewInt(1))
	s.DB(0).Rename(n, []byte("k"))
	require.Equal(t, []string{"k"}, readyNames(s.DrainReady(AllShards)))

	n = s.DB(1).Put([]byte("k"), NewInt(1))
	require.Empty(t, s.DrainReady(AllShards), "another database")
	s.DB(1).MoveTo(n, s.DB(0), []byte("m"))
	require.Equal(t, []string{"m"}, readyNames(s.DrainReady(AllShards)))

	s.DB(2).Put([]byte("m"), NewInt(1))
	s.Swap(0, 2, 0)
	require.Equal(t, []string{"m"}, readyNames(s.DrainReady(AllShards)))
	s.Swap(0, 2, 0)
	require.ElementsMatch(t, []string{"k", "m"}, readyNames(s.DrainReady(AllShards)))
}

func TestReach(t *testing.T) {
	s := New()
	s.Lock(AllShards)
	defer s.Unlock(AllShards)
	from, to := []byte("from"), []byte("to")
	for ShardOf(from) == ShardOf(to) { // keys hash differently in each process
		to = append(to, 'o')
	}
	one, two := &Waiter{}, &Waiter{}
	s.DB(0).Wait(one, [][]byte{from}, to)
	s.DB(3).Wait(two, [][]byte{from}, to)
	require.Equal(t, ShardOf(from)|ShardOf(to), s.Affected(ShardOf(from)))
	require.Equal(t, ShardOf(to), s.Affected(ShardOf(to)))
	s.RemoveWaiter(one)
	require.Equal(t, ShardOf(from)|ShardOf(to), s.Affected(ShardOf(from)), "the other one is still waiting")
	s.RemoveWaiter(two)
	require.Equal(t, ShardOf(from), s.Affected(ShardOf(from)))
}
