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

// TestGroupCommitGathers checks that all 50 share each sync if the log can let everything run that has
// arrived before it syncs.
func TestGroupCommitGathers(t *testing.T) {
	turns := 0
	o := aof.Options{
		Turn: func() { turns++; synctest.Wait() }, NowUs: func() int64 { return time.Now().UnixMicro() },
	}
	require.LessOrEqual(t, groupCommit(t, 50, 40, o), 40+2)
	require.LessOrEqual(t, turns, 2*(40+2), "no turn is taken once all have appended")
}

// TestGroupCommitOfOne checks that a single writer waits for nobody.
func TestGroupCommitOfOne(t *testing.T) {
	o := aof.Options{
		Turn: func() { t.Error("a turn was taken") }, NowUs: func() int64 { return time.Now().UnixMicro() },
	}
	require.GreaterOrEqual(t, groupCommit(t, 1, 10, o), 10)
}

// TestGatheringEnds has a client that appends each millisecond, waiting for nothing, so that each turn, of
// 3 ms, brings something. A sync takes 1 ms: it is preceded by one turn at most.
func TestGatheringEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := crashdisk.New(1)
		turns, syncs := 0, 0
		o := aof.Options{
			FS: on.FS(), Policy: func() aof.Policy { return aof.Always },
			NowUs: func() int64 { return time.Now().UnixMicro() },
			Turn: func() {
				turns++
				<-time.After(3 * time.Millisecond) // of the bubble
			},
		}
		log, err := aof.Open(o, &aof.Loaded{}, true, nothing)
		require.NoError(t, err)
		on.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if op.Kind == crashdisk.Sync && strings.HasSuffix(op.Name, ".incr.aof") {
				syncs++
				<-time.After(time.Millisecond) // of the bubble
			}
			return crashdisk.Fault{}
		})
		for range 700 {
			log.Append(group(0, "SET a 1"), 1)
			<-time.After(time.Millisecond) // of the bubble
		}
		require.NoError(t, log.Close())
		require.Greater(t, turns, 50)
		require.LessOrEqual(t, turns, syncs)
	})
}

// TestGroupCommitIsCounted has a single writer, which shares no sync.
func TestGroupCommitIsCounted(t *testing.T) {
	require.GreaterOrEqual(t, groupCommit(t, 1, 10, aof.Options{}), 10)
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
