package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

// TestReadAheadBesideWriters reads ahead while other goroutines add, change and remove the same keys under
// their locks. The race detector is the judge.
func TestReadAheadBesideWriters(t *testing.T) {
	s := store.New()
	db := s.DB(0)
	keys := make([][]byte, 2*store.ReadAheadKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key:%d", i)
	}
	var writers sync.WaitGroup
	var unit atomic.Int64
	for w := range 2 {
		writers.Go(func() {
			for i := range 20_000 {
				key := keys[(i*7+w)%len(keys)]
				shard := store.ShardOf(key)
				s.Lock(shard)
				switch n := db.Find(key, nowMs); {
				case n == nil:
					var set *zset.Set
					n, set = db.AddZSet(key)
					set.AppendRun(unit.Add(2), 1)
					db.Modified(n)
				case i%50 == 0:
					db.Delete(n)
				default:
					store.ZSetOf(n).AppendRun(unit.Add(2), 1)
					db.Modified(n)
				}
				s.Unlock(shard)
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for i := 0; ; i++ {
		s.ReadAhead(0, keys[i%store.ReadAheadKeys:])
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestReadAheadWaitsForNobody: it leaves a locked shard alone, holds none afterwards, and allocates nothing.
func TestReadAheadWaitsForNobody(t *testing.T) {
	s := store.New()
	key := []byte("key")
	s.DB(0).Put(key, store.NewInt(1))
	s.Lock(store.ShardOf(key))
	s.ReadAhead(0, [][]byte{[]byte("other"), key, []byte("third")})
	s.Unlock(store.ShardOf(key))
	s.ReadAhead(0, nil)
	s.ReadAhead(3, [][]byte{key, []byte("no such key")})
	require.True(t, s.TryLock(store.AllShards))
	s.Unlock(store.AllShards)
	keys := [][]byte{key, []byte("other")}
	require.Zero(t, testing.AllocsPerRun(100, func() { s.ReadAhead(0, keys) }))
}

// TestReadAheadOfACall: a call's keys may be any number, every one or every third of its arguments. Nothing
// changes, and nothing is allocated.
func TestReadAheadOfACall(t *testing.T) {
	s := store.New()
	db := s.DB(0)
	db.Put([]byte("large"), store.NewString(make([]byte, 8<<20)))
	args := make([][]byte, 120)
	for i := range args {
		args[i] = fmt.Appendf(nil, "key:%d", i)
		if i%2 == 0 {
			db.Put(args[i], store.NewInt(1))
		}
	}
	s.Lock(store.AllShards)
	defer s.Unlock(store.AllShards)
	before := s.Memory()
	for step := 1; step <= 3; step++ {
		db.ReadAhead(nil, step, args[0])
		for n := 0; n <= len(args); n += step {
			db.ReadAhead(args[:n], step, nil)
		}
	}
	require.Equal(t, before, s.Memory())
	require.Zero(t, testing.AllocsPerRun(100, func() { db.ReadAhead(args, 1, nil) }))
}
