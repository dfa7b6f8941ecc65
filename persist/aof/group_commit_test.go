package aof_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// TestGroupCommit lets 50 writers wait for each of their writes on a disk whose sync
// takes 5 ms of the bubble's clock. It allows at most one sync for every 20
// acknowledged writes.
func TestGroupCommit(t *testing.T) {
	syncs := groupCommit(t, 50, 40)
	require.LessOrEqual(t, syncs*20, 50*40)
	require.Positive(t, syncs)
}

// TestGroupCommitIsCounted has a single writer, which shares no sync.
func TestGroupCommitIsCounted(t *testing.T) {
	require.GreaterOrEqual(t, groupCommit(t, 1, 10), 10)
}

func groupCommit(t *testing.T, writers, each int) int {
	var syncs atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		on := crashdisk.New(1)
		o := aof.Options{FS: on.FS(), Policy: func() aof.Policy { return aof.Always }}
		log, err := aof.Open(o, &aof.Loaded{}, true, nothing)
		require.NoError(t, err)
		on.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if op.Kind == crashdisk.Sync && strings.HasSuffix(op.Name, ".incr.aof") {
				syncs.Add(1)
				<-time.After(5 * time.Millisecond) // of the bubble
			}
			return crashdisk.Fault{}
		})
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					end := log.Append(group(0, "SET a 1"), 1)
					if err := log.Wait(end, nil); err != nil || log.Synced() < end {
						t.Errorf("waited for %d, %d is synced: %v", end, log.Synced(), err)
					}
				}
			})
		}
		all.Wait()
		t.Logf("%d writers, %d writes, %d syncs", writers, writers*each, syncs.Load())
		on.Hook(nil)
		require.NoError(t, log.Close())
	})
	return int(syncs.Load())
}
