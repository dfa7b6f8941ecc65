package store

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestShardsShareNoCacheLine checks that cores which work on different shards write to
// different lines, wherever the collector puts the databases.
func TestShardsShareNoCacheLine(t *testing.T) {
	require.Zero(t, unsafe.Sizeof(shard{})%cacheLine, "size of a shard")
	require.Zero(t, unsafe.Offsetof(DB{}.shards)%cacheLine, "the first shard of a database")
	require.EqualValues(t, cacheLine, unsafe.Sizeof(paddedLock{}), "size of a lock")
	s := New()
	require.Zero(t, uintptr(unsafe.Pointer(&s.locks[0]))%cacheLine)
	for i := range s.dbs {
		require.Zero(t, uintptr(unsafe.Pointer(&s.dbs[i].shards[0]))%cacheLine, "database %d", i)
	}
}

// TestWhatEachCallReadsIsNotWrittenByOthers checks that what the whole store shares, and
// calls read, is in other lines than the sum that growing keys write.
func TestWhatEachCallReadsIsNotWrittenByOthers(t *testing.T) {
	var s Store
	written := unsafe.Offsetof(s.used) / cacheLine
	for name, read := range map[string]uintptr{
		"dbs": unsafe.Offsetof(s.dbs) + unsafe.Sizeof(s.dbs) - 1, "watches": unsafe.Offsetof(s.watches),
		"watchedKeys": unsafe.Offsetof(s.watchedKeys), "stamping": unsafe.Offsetof(s.stamping),
	} {
		require.NotEqual(t, written, read/cacheLine, name)
	}
}

// TestLimitIsOneLine checks that a node, its name of up to 16 bytes, its deadline and its sorted set without
// the tokens are in one cache line.
func TestLimitIsOneLine(t *testing.T) {
	db := New().DB(0)
	lineOf := func(p unsafe.Pointer) uintptr { return uintptr(p) / cacheLine }
	for i := range 1000 {
		n, s := db.AddZSet(fmt.Appendf(nil, "limit:%010d", i))
		s.AppendRun(int64(i), 1)
		db.Modified(n)
		name := n.Key()
		require.Len(t, name, 16)
		require.Equal(t, lineOf(unsafe.Pointer(s)), lineOf(unsafe.Pointer(n)))
		last := unsafe.Add(unsafe.Pointer(unsafe.StringData(name)), len(name)-1)
		require.Equal(t, lineOf(unsafe.Pointer(s)), lineOf(last))
		require.Same(t, s, ZSetOf(n))
	}
}
