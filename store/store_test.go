package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

const nowMs = 1_700_000_000_000

func put(db *store.DB, key, text string) *store.Node {
	return db.Put([]byte(key), store.NewString([]byte(text)))
}

func TestKeyExistsAtItsDeadline(t *testing.T) {
	db := store.New().DB(0)
	n := put(db, "k", "v")
	db.ExpireAt(n, nowMs)
	require.NotNil(t, db.Lookup([]byte("k"), nowMs), "at the deadline")
	require.Nil(t, db.Lookup([]byte("k"), nowMs+1), "a millisecond later")
	require.Zero(t, db.Len(), "a lookup removes an expired key")
}

func TestPutRemovesDeadline(t *testing.T) {
	db := store.New().DB(0)
	db.ExpireAt(put(db, "k", "v"), nowMs)
	put(db, "k", "w")
	require.NotNil(t, db.Lookup([]byte("k"), math.MaxInt64))
	require.Zero(t, db.ExpiringLen())
}

func TestModifiedRemovesAnEmptiedCollection(t *testing.T) {
	db := store.New().DB(0)
	n, set := db.AddZSet([]byte("z"))
	set.Add([]byte("a"), 1)
	db.ExpireAt(n, nowMs)
	set.Remove([]byte("a"))
	db.Modified(n)
	require.Nil(t, db.Find([]byte("z"), 0))
	require.Zero(t, db.ExpiringLen())
}

func TestRenameKeepsDeadline(t *testing.T) {
	db := store.New().DB(0)
	n := put(db, "a", "v")
	db.ExpireAt(n, nowMs)
	db.ExpireAt(put(db, "b", "old"), nowMs+500)
	db.Rename(n, []byte("b"))
	require.Nil(t, db.Find([]byte("a"), 0))
	require.Equal(t, 1, db.Len())
	require.Equal(t, 1, db.ExpiringLen())
	at, ok := db.Find([]byte("b"), 0).Value.ExpireAtMs()
	require.True(t, ok)
	require.EqualValues(t, nowMs, at)
}

// reclaim runs one step of Reclaim and reports whether there may be more.
func reclaim(s *store.Store, nowMs int64, limit int) bool {
	_, more := s.Reclaim(store.AllShards, nowMs, limit)
	return more
}

func TestReclaimIsBoundedAndComplete(t *testing.T) {
	s := store.New()
	db := s.DB(3)
	const keys, limit, group = 1000, 64, 32
	for i := range keys {
		db.ExpireAt(put(db, fmt.Sprint("k", i), "v"), nowMs+int64(i%2))
	}
	require.False(t, reclaim(s, nowMs, limit), "nothing has expired at the deadline itself")
	for left, more := keys, true; more; {
		var examined int
		examined, more = s.Reclaim(store.AllShards, nowMs+1, limit)
		require.LessOrEqual(t, examined, limit+group)
		require.LessOrEqual(t, left-db.Len(), examined)
		require.True(t, !more || db.Len() < left, "a step removes something")
		left = db.Len()
	}
	require.Equal(t, keys/2, db.Len())
	require.Equal(t, keys/2, db.ExpiringLen())
	require.EqualValues(t, keys/2, figures(s).Expired)
	for reclaim(s, nowMs+2, limit) {
	}
	require.Zero(t, db.Len())
	require.Zero(t, db.ExpiringLen())
}

func TestExtendedDeadlinesAreKept(t *testing.T) {
	s := store.New()
	db := s.DB(0)
	n := put(db, "k", "v")
	db.ExpireAt(n, nowMs)
	db.ExpireAt(n, nowMs+5000)
	require.False(t, reclaim(s, nowMs+1, 10))
	require.NotNil(t, db.Find([]byte("k"), nowMs+5000))
	require.False(t, reclaim(s, nowMs+5000, 10))
	require.Equal(t, 1, db.Len())
	require.False(t, reclaim(s, nowMs+5001, 10))
	require.Zero(t, db.Len())
}

// Reclaim must remove exactly the expired keys after any history of keys and deadlines.
func TestReclaimIsExact(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := store.New()
		dueMs := map[string]int64{} // 0: no deadline
		now := int64(nowMs)
		for range 4000 {
			key := fmt.Sprint("k", rng.IntN(1<<(2+rng.IntN(9))))
			db := s.DB(0)
			switch n := db.Find([]byte(key), now); {
			case n == nil || rng.IntN(8) == 0:
				put(db, key, "v")
				dueMs[key] = 0
			case rng.IntN(10) == 0:
				db.Delete(n)
				delete(dueMs, key)
			case rng.IntN(10) == 0:
				db.Persist(n)
				dueMs[key] = 0
			case rng.IntN(20) == 0:
				to := fmt.Sprint("k", rng.IntN(500))
				db.Rename(n, []byte(to))
				due := dueMs[key]
				delete(dueMs, key)
				dueMs[to] = due
			default:
				due := now + rng.Int64N(2000)
				db.ExpireAt(n, due)
				dueMs[key] = due
			}
			if rng.IntN(20) > 0 {
				continue
			}
			now += rng.Int64N(500)
			for reclaim(s, now, 16) {
			}
			expiring := 0
			for key, due := range dueMs {
				switch {
				case due != 0 && due < now:
					delete(dueMs, key)
				case due != 0:
					expiring++
				}
			}
			require.Equal(t, len(dueMs), db.Len())
			require.Equal(t, expiring, db.ExpiringLen())
		}
	}
}

func TestExtremeDeadlines(t *testing.T) {
	db := store.New().DB(0)
	n := put(db, "k", "v")
	db.ExpireAt(n, math.MaxInt64)
	require.NotNil(t, db.Find([]byte("k"), math.MaxInt64))
	db.ExpireAt(n, 0)
	require.Nil(t, db.Find([]byte("k"), 1), "the epoch is a deadline, not none")
}

func TestScanSeesEveryKeyDuringChanges(t *testing.T) {
	db := store.New().DB(0)
	for i := range 5000 {
		put(db, fmt.Sprint("stay", i), "v")
	}
	seen := make(map[string]bool)
	rnd := rand.New(rand.NewPCG(1, 2))
	calls := 0
	for cursor := uint64(0); ; calls++ {
		cursor = db.Scan(cursor, 10, nowMs, func(n *store.Node) { seen[n.Key()] = true })
		if cursor == 0 {
			break
		}
		key := fmt.Sprint("churn", rnd.IntN(3000))
		if n := db.Find([]byte(key), nowMs); n != nil {
			db.Delete(n)
		} else {
			put(db, key, "v")
		}
	}
	for i := range 5000 {
		require.True(t, seen[fmt.Sprint("stay", i)])
	}
	require.Greater(t, calls, 100, "a few keys per call")
}

func TestRandomSkipsExpiredKeys(t *testing.T) {
	db := store.New().DB(0)
	require.Nil(t, db.Random(nowMs, rand.Uint64N))
	db.ExpireAt(put(db, "due", "v"), nowMs)
	put(db, "alive", "v")
	for range 50 {
		require.Equal(t, "alive", db.Random(nowMs+1, rand.Uint64N).Key())
	}
}

func TestWatch(t *testing.T) {
	key := []byte("k")
	for _, c := range []struct {
		name   string
		before func(db *store.DB)
		change func(s *store.Store, db *store.DB)
		atMs   int64
		intact bool
	}{
		{"nothing happens", nil, func(*store.Store, *store.DB) {}, nowMs, true},
		{"another key", nil, func(_ *store.Store, db *store.DB) { put(db, "other", "v") }, nowMs, true},
		{"another database", nil, func(s *store.Store, _ *store.DB) { put(s.DB(1), "k", "v") }, nowMs, true},
		{"created", nil, func(_ *store.Store, db *store.DB) { put(db, "k", "v") }, nowMs, false},
		{
			"created and deleted", nil,
			func(_ *store.Store, db *store.DB) { db.Delete(put(db, "k", "v")) }, nowMs, false,
		},
		{
			"changed in place", func(db *store.DB) { put(db, "k", "v") },
			func(_ *store.Store, db *store.DB) { db.Modified(db.Find(key, nowMs)) }, nowMs, false,
		},
		{
			"expired since", func(db *store.DB) { db.ExpireAt(put(db, "k", "v"), nowMs+5) },
			func(*store.Store, *store.DB) {}, nowMs + 6, false,
		},
		{
			"expired already when watched", func(db *store.DB) { db.ExpireAt(put(db, "k", "v"), nowMs-5) },
			func(_ *store.Store, db *store.DB) { db.Find(key, nowMs) }, nowMs, true,
		},
		{"flush without the key", nil, func(_ *store.Store, db *store.DB) { db.Flush() }, nowMs, true},
		{
			"flush with the key", func(db *store.DB) { put(db, "k", "v") },
			func(_ *store.Store, db *store.DB) { db.Flush() }, nowMs, false,
		},
		{
			"swapped with a database that has it", nil,
			func(s *store.Store, _ *store.DB) { put(s.DB(1), "k", "v"); s.Swap(0, 1, 0) }, nowMs, false,
		},
		{"swapped, absent in both", nil, func(s *store.Store, _ *store.DB) { s.Swap(0, 1, 0) }, nowMs, true},
		{
			"renamed away", func(db *store.DB) { put(db, "k", "v") },
			func(_ *store.Store, db *store.DB) { db.Rename(db.Find(key, nowMs), []byte("x")) }, nowMs, false,
		},
		{
			"renamed over", nil,
			func(_ *store.Store, db *store.DB) { db.Rename(put(db, "x", "v"), key) }, nowMs, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := store.New()
			db := s.DB(0)
			if c.before != nil {
				c.before(db)
			}
			var w store.Watch
			db.Watch(&w, key, nowMs)
			db.Watch(&w, key, nowMs) // twice is once
			require.Equal(t, 1, w.Len())
			c.change(s, db)
			require.Equal(t, c.intact, s.Intact(&w, c.atMs))
			s.Unwatch(&w)
			put(s.DB(0), "k", "later")
			require.True(t, s.Intact(&w, c.atMs), "no longer watched")
		})
	}
}

func TestLockedShardsExclude(t *testing.T) {
	s := store.New()
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("c")}
	counts := make([]int, len(keys))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 3000 {
				k := i % len(keys)
				shards := store.ShardOf(keys[k])
				if i%100 == 0 {
					shards = store.AllShards
				}
				s.Lock(shards)
				counts[k]++ // for the race detector
				s.Unlock(shards)
			}
		})
	}
	all.Wait()
	require.Equal(t, []int{8000, 8000, 8000}, counts)
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		text, encoding string
	}{
		{"", "embstr"},
		{"0", "int"},
		{"-1", "int"},
		{"-0", "embstr"},
		{"01", "embstr"},
		{"+1", "embstr"},
		{" 1", "embstr"},
		{"9223372036854775807", "int"},
		{"9223372036854775808", "embstr"},
		{"-9223372036854775808", "int"},
		{"-9223372036854775809", "embstr"},
		{"99999999999999999999", "embstr"},
		{"12345678901234567890123456789012345678901234", "embstr"},
		{"123456789012345678901234567890123456789012345", "raw"},
	} {
		s := store.NewString([]byte(c.text))
		require.Equal(t, c.text, string(s.Bytes(nil)), c.text)
		require.Equal(t, c.encoding, s.Encoding(), c.text)
		require.Equal(t, len(c.text), s.Size(), c.text)
	}
	s := store.NewInt(10)
	require.Equal(t, 4, s.Append([]byte("ab")))
	require.Equal(t, "raw", s.Encoding())
	require.Equal(t, 7, s.Overwrite(6, []byte("z")))
	require.Equal(t, "10ab\x00\x00z", string(s.Bytes(nil)))
}

func TestStringClone(t *testing.T) {
	edited := store.NewString([]byte("ab"))
	edited.Append([]byte("c"))
	for want, s := range map[string]*store.String{
		"int":    store.NewInt(7),
		"embstr": store.NewString([]byte("text")),
		"raw":    edited,
	} {
		text := string(s.Bytes(nil))
		c := s.Clone()
		require.Equal(t, want, c.Encoding())
		s.Overwrite(0, []byte("x"))
		require.Equal(t, text, string(c.Bytes(nil)))
		c.Set([]byte("other"))
		require.Equal(t, "x"+text[1:], string(s.Bytes(nil)))
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	db := store.New().DB(0)
	key := []byte("a key of some length")
	n := db.Put(key, store.NewInt(1))
	db.ExpireAt(n, nowMs)
	at := int64(nowMs)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		at++
		n := db.Lookup(key, nowMs)
		db.ExpireAt(n, at)
		db.Modified(n)
	}))
}

// Each key costs, besides its value and with a name of 16 bytes, a node of 48 bytes, a bucket of 8 and a
// share of a group's bound; a sorted set of one hit costs 16 more, one cache line in all. docs/adr/0021
// has the rest.
func TestKeyIsSmall(t *testing.T) {
	require.EqualValues(t, 16, unsafe.Sizeof(store.Entry{}))
	require.EqualValues(t, 32, unsafe.Sizeof(store.Node{}))
	require.Equal(t, 48+8, put(store.New().DB(0), "a key 16 b. long", "").Bytes())
	require.EqualValues(t, 24, unsafe.Sizeof(zset.Set{}))
	n := store.New().DB(0).Put([]byte("a key 16 b. long"), &zset.Set{})
	require.Equal(t, 64+8, n.Bytes())
	require.Zero(t, store.ValueBytes(n))
}

func figures(s *store.Store) (f store.Figures) {
	for shard := range store.NumShards {
		s.AddFigures(&f, shard)
	}
	return f
}
