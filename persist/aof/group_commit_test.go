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
	syncs := groupCommit(t, 50, 40, aof.Options{})
	require.LessOrEqual(t, syncs*20, 50*40)
	require.Positive(t, syncs)
}

// TestGroupCommitIsCounted has a single writer, which shares no sync.
func TestGroupCommitIsCounted(t *testing.T) {
	require.GreaterOrEqual(t, groupCommit(t, 1, 10, aof.Options{}), 10)
}

// TestLead checks that a leader brings everything to the disk with one sync, on its own goroutine; that the
// next one's groups wait for it, and share a sync; and that nothing is written before, unless it fills a
// chunk.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := crashdisk.New(1)
		log, err := aof.Open(aof.Options{
			FS: on.FS(), Policy: func() aof.Policy { return aof.Always },
		}, &aof.Loaded{}, true, nothing)
		require.NoError(t, err)
		var writes, syncs atomic.Int64
		on.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if strings.HasSuffix(op.Name, ".incr.aof") {
				switch op.Kind {
				case crashdisk.Write:
					writes.Add(1)
				case crashdisk.Sync:
					syncs.Add(1)
					<-time.After(5 * time.Millisecond) // of the bubble
				}
			}
			return crashdisk.Fault{}
		})
		synctest.Wait() // the writer looks once when it starts
		var end int64
		for range 50 {
			end = log.Append(group(0, "SET a 1"), 1)
		}
		synctest.Wait()
		require.Zero(t, writes.Load())
		began := time.Now()
		others := make(chan int64, 1)
		go func() {
			<-time.After(time.Millisecond) // of the bubble
			others <- log.Append(group(0, "SET a 1"), 1)
			log.Lead()
			others <- log.Synced()
		}()
		log.Lead()
		require.Equal(t, 5*time.Millisecond, time.Since(began))
		require.Equal(t, end, log.Synced())
		require.EqualValues(t, 1, syncs.Load())
		came := <-others
		require.Equal(t, came, <-others, "what came meanwhile has the next")
		require.Equal(t, 10*time.Millisecond, time.Since(began))
		require.EqualValues(t, 2, syncs.Load())

		log.Append(group(0, "SET a "+strings.Repeat("1", 100_000)), 1)
		synctest.Wait()
		require.EqualValues(t, 3, writes.Load(), "memory is bounded")

		end = log.Append(group(0, "SET a 1"), 1)
		log.Tick(1)
		<-time.After(20 * time.Millisecond) // of the bubble
		require.Equal(t, end, log.Synced(), "nobody waits, but it is not left for long")
		on.Hook(nil)
		require.NoError(t, log.Close())
	})
}

func groupCommit(t *testing.T, writers, each int, o aof.Options) int {
	var syncs atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		on := crashdisk.New(1)
		o.FS, o.Policy = on.FS(), func() aof.Policy { return aof.Always }
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
