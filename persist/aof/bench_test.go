package aof_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
)

// TestAppendDoesNotAllocate checks that chunks are reused.
func TestAppendDoesNotAllocate(t *testing.T) {
	log, err := aof.Open(aof.Options{FS: disk.OS(t.TempDir())}, &aof.Loaded{}, true, nothing)
	require.NoError(t, err)
	g := group(0, "ZADD k 1 1", "PEXPIREAT k 1795195614539")
	for range 10_000 {
		log.Append(g, 1)
	}
	allocs := testing.AllocsPerRun(20_000, func() { log.Append(g, 1) })
	require.Less(t, allocs, 1.0)
	require.NoError(t, log.Close())
}

func BenchmarkAppend(b *testing.B) {
	log, err := aof.Open(aof.Options{FS: disk.OS(b.TempDir())}, &aof.Loaded{}, true, nothing)
	require.NoError(b, err)
	g := group(0, "ZADD k 1795195614539000 1795195614539000", "PEXPIREAT k 1795195614539")
	b.ReportAllocs()
	for b.Loop() {
		log.Append(g, 1)
		_ = log.WaitForSpace(nil)
	}
	require.NoError(b, log.Close())
}
