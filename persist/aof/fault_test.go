package aof_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// begun returns a new log on a new disk.
func begun(t *testing.T, policy aof.Policy, limit int64) (*crashdisk.Disk, *aof.Log) {
	t.Helper()
	on := crashdisk.New(1)
	log, err := aof.Open(aof.Options{FS: on.FS(), Policy: func() aof.Policy { return policy }, Limit: limit},
		&aof.Loaded{}, false, nothing)
	require.NoError(t, err)
	return on, log
}

// fail makes operations of one kind on incremental files fail.
func fail(kind crashdisk.Kind, err error, short int) func(crashdisk.Op) crashdisk.Fault {
	return func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == kind && strings.HasSuffix(op.Name, ".incr.aof") {
			return crashdisk.Fault{Err: err, Short: short}
		}
		return crashdisk.Fault{}
	}
}

func TestFullDiskRecovers(t *testing.T) {
	for _, policy := range []aof.Policy{aof.EverySec, aof.Always} {
		synctest.Test(t, func(t *testing.T) {
			on, log := begun(t, policy, 0)
			first := log.Append(group(0, "SET a 1"), 1)
			log.Flush()
			synctest.Wait()
			before := on.Bytes(incr)
			room := on.Used() + 40
			on.SetCapacity(room)
			end := log.Append(group(0, "SET b 22222222222222"), 2)
			log.Flush()
			synctest.Wait()
			require.ErrorIs(t, log.Err(), crashdisk.ErrSpace)
			require.ErrorIs(t, log.WaitForSpace(nil), crashdisk.ErrSpace)
			require.ErrorIs(t, log.Status().Err, crashdisk.ErrSpace)
			require.Equal(t, before, on.Bytes(incr), "the partial write is truncated")
			if policy == aof.Always {
				require.NoError(t, log.Wait(first, nil))
			}
			require.ErrorIs(t, log.Wait(end, nil), crashdisk.ErrSpace)

			log.Tick(1000)
			synctest.Wait()
			require.ErrorIs(t, log.Err(), crashdisk.ErrSpace, "still full")
			on.SetCapacity(0)
			log.Tick(1100)
			synctest.Wait()
			require.Error(t, log.Err(), "tried once a second")
			log.Tick(2000)
			synctest.Wait()
			require.NoError(t, log.Err())
			require.NoError(t, log.Close())
			require.Equal(t, []string{"SELECT 0", "SET a 1", "SET b 22222222222222"},
				load(on, false).commands)
		})
	}
}

func TestFailedSyncNeedsARewrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on, log := begun(t, aof.Always, 0)
		safe := log.Append(group(0, "SET a 1"), 1)
		require.NoError(t, log.Wait(safe, nil))
		on.Hook(fail(crashdisk.Sync, errDisk, 0))
		lost := log.Append(group(0, "SET b 1"), 2)
		require.ErrorIs(t, log.Wait(lost, nil), errDisk)
		on.Hook(nil)
		for now := int64(1000); now < 5000; now += 1000 { // a later sync would report success
			log.Tick(now)
			synctest.Wait()
		}
		require.ErrorIs(t, log.Err(), errDisk)
		require.True(t, log.Status().NeedsRewrite)
		require.NoError(t, log.Wait(safe, nil), "synced data is still there")
		require.ErrorIs(t, log.Wait(lost, nil), errDisk)

		// A rewrite that fails changes nothing, and is not retried at once.
		require.NoError(t, log.Prepare())
		require.ErrorIs(t, log.Prepare(), aof.ErrRewriting)
		log.Switch()
		require.ErrorIs(t, log.Finish(false, func(io.Writer) error { return errBase }), errBase)
		require.False(t, log.MayRewrite(4999))
		require.True(t, log.MayRewrite(5000))
		require.ErrorIs(t, log.Err(), errDisk)

		require.NoError(t, log.Prepare())
		log.Switch()
		after := log.Append(group(0, "DEL c"), 3)
		require.NoError(t, log.Finish(false, func(w io.Writer) error {
			_, err := io.WriteString(w, wire("SELECT 0", "SET a 1", "SET b 1"))
			return err
		}))
		require.NoError(t, log.Err())
		require.NoError(t, log.Wait(lost, nil), "the base has it")
		require.NoError(t, log.Wait(after, nil))
		require.NoError(t, log.Close())
		require.Equal(t, []string{"SELECT 0", "SET a 1", "SET b 1", "SELECT 0", "DEL c"},
			load(on, false).commands)
		require.Equal(t, []string{
			"appendonlydir/appendonly.aof.3.base.aof", "appendonlydir/appendonly.aof.3.incr.aof",
			"appendonlydir/appendonly.aof.manifest",
		}, used(on), "what the failed ones made is gone, or is empty")
	})
}

// used returns the files that are not empty.
func used(on *crashdisk.Disk) []string {
	var names []string
	for _, name := range on.Names() {
		if len(on.Bytes(name)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// TestSlowDiskBlocksWaiters hangs a write. Memory is bounded by callers that wait
// for space, and otherwise by abandoning the file. Each group fills a chunk: an open one
// is not counted before the writer takes it.
func TestSlowDiskBlocksWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 100 << 10
		on, log := begun(t, aof.EverySec, limit)
		gate := make(chan struct{})
		on.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if op.Kind == crashdisk.Write {
				<-gate
			}
			return crashdisk.Fault{}
		})
		value := strings.Repeat("v", limit)
		require.NoError(t, log.WaitForSpace(nil))
		log.Append(group(0, "SET a "+value), 1)
		log.Append(group(0, "SET a "+value), 1)
		require.Greater(t, log.Status().Buffered, int64(limit))
		entered := make(chan error)
		go func() { entered <- log.WaitForSpace(nil) }()
		giveUp := make(chan struct{})
		close(giveUp)
		require.ErrorIs(t, log.WaitForSpace(giveUp), aof.ErrWaitCanceled)
		synctest.Wait()
		select {
		case <-entered:
			t.Fatal("there was no room")
		default:
		}
		close(gate)
		require.NoError(t, <-entered)
		synctest.Wait()
		require.Zero(t, log.Status().Buffered)

		gate = make(chan struct{})
		for range 8 {
			log.Append(group(0, "SET a "+value), 1)
		}
		require.LessOrEqual(t, log.Status().Buffered, int64(4*limit))
		require.True(t, log.Status().NeedsRewrite)
		require.ErrorContains(t, log.Err(), "too far behind")
		close(gate)
		synctest.Wait()
		require.NoError(t, log.Prepare())
		log.Switch()
		require.NoError(t, log.Finish(false, nothing))
		require.NoError(t, log.Err())
		require.NoError(t, log.Close())
	})
}

// TestEverySecSyncsOnceASecond counts syncs.
func TestEverySecSyncsOnceASecond(t *testing.T) {
	for policy, want := range map[aof.Policy]int{aof.EverySec: 5, aof.No: 0} {
		synctest.Test(t, func(t *testing.T) {
			on, log := begun(t, policy, 0)
			var mu sync.Mutex
			syncs := 0
			on.Hook(func(op crashdisk.Op) crashdisk.Fault {
				mu.Lock()
				defer mu.Unlock()
				if op.Kind == crashdisk.Sync {
					syncs++
				}
				return crashdisk.Fault{}
			})
			for now := int64(100_000); now < 105_000; now += 100 {
				log.Append(group(0, "SET a 1"), now)
				log.Flush()
				synctest.Wait()
				log.Tick(now)
				synctest.Wait()
			}
			require.Equal(t, want, syncs)
			for now := int64(105_000); now < 110_000; now += 100 {
				log.Tick(now)
				synctest.Wait()
			}
			if policy == aof.EverySec {
				want++ // the last writes; then there is nothing to sync
				require.Equal(t, log.End(), log.Synced())
			}
			require.Equal(t, want, syncs)
			on.Hook(nil)
			require.NoError(t, log.Close())
		})
	}
}

// TestBeginAtRunTime tests CONFIG SET appendonly yes over an older log.
func TestBeginAtRunTime(t *testing.T) {
	on := written(t, 3, true)
	log, err := aof.Begin(aof.Options{FS: on.FS(), Policy: func() aof.Policy { return aof.Always }})
	require.NoError(t, err)
	before := log.Append(group(0, "SET x 1"), 5000)
	require.NoError(t, log.Err())
	require.NoError(t, log.Wait(before, nil), "not durable yet")
	require.True(t, log.Status().Starting)
	require.Len(t, load(on, false).commands, 4, "a crash finds the previous state")
	require.NoError(t, log.Close(), "there was nothing to write")

	log, err = aof.Begin(aof.Options{FS: on.FS(), Policy: func() aof.Policy { return aof.Always }})
	require.NoError(t, err)
	log.Append(group(0, "SET x 1"), 5000)
	require.NoError(t, log.Prepare())
	log.Switch()
	log.Append(group(0, "SET y 1"), 5001)
	require.NoError(t, log.Finish(false, func(w io.Writer) error {
		_, err := io.WriteString(w, wire("SELECT 0", "SET x 1"))
		return err
	}))
	require.False(t, log.Status().Starting)
	require.NoError(t, log.Wait(log.End(), nil))
	require.NoError(t, log.Close())
	require.ErrorIs(t, log.Wait(log.Append(group(0, "SET y 1"), 5001), nil), aof.ErrClosed)
	require.Equal(t, []string{"SELECT 0", "SET x 1", "SELECT 0", "SET y 1"}, load(on, false).commands)
}

// TestConcurrency appends, waits, rewrites and reads from many goroutines, for the race
// detector. Each goroutine's order must be the loaded order.
func TestConcurrency(t *testing.T) {
	on, log := begun(t, aof.Always, 0)
	const writers, each = 8, 60
	var all sync.WaitGroup
	var shards sync.RWMutex // writers lock it shared, Switch exclusively
	var state sync.Mutex
	keys := make(map[string]int)
	for w := range writers {
		all.Go(func() {
			for i := range each {
				shards.RLock()
				state.Lock()
				end := log.Append(group(w%3, fmt.Sprintf("SET k%d %d", w, i)), int64(i))
				keys[fmt.Sprintf("%d k%d", w%3, w)] = i
				state.Unlock()
				shards.RUnlock()
				if i%4 == 0 {
					if err := log.Wait(end, nil); err != nil {
						t.Errorf("Wait: %v", err)
					}
				}
				log.Tick(int64(i * 100))
				log.Status()
			}
		})
	}
	all.Go(func() {
		for range 10 {
			if err := log.Prepare(); err != nil {
				t.Errorf("Prepare: %v", err)
			}
			shards.Lock()
			log.Switch()
			var base strings.Builder
			for key, i := range keys {
				var db int
				var name string
				_, _ = fmt.Sscan(key, &db, &name)
				base.WriteString(wire(fmt.Sprintf("SELECT %d", db), fmt.Sprintf("SET %s %d", name, i)))
			}
			shards.Unlock()
			if err := log.Finish(false, func(
				w io.Writer,
			) error {
				_, err := io.WriteString(w, base.String())
				return err
			}); err != nil {
				t.Errorf("Finish: %v", err)
			}
		}
	})
	all.Wait()
	require.NoError(t, log.Close())
	l := load(on, false)
	require.NoError(t, l.err)
	got, db := make(map[string]int), 0
	for _, c := range l.commands {
		var key string
		var i int
		if n, _ := fmt.Sscanf(c, "SELECT %d", &db); n == 1 {
			continue
		}
		_, err := fmt.Sscanf(c, "SET %s %d", &key, &i)
		require.NoError(t, err)
		at := fmt.Sprintf("%d %s", db, key)
		if last, ok := got[at]; ok {
			require.Equal(t, last+1, i, "%s follows itself", at)
		}
		got[at] = i
	}
	require.Equal(t, keys, got)
}

// TestCloseDuringWait checks that waiters during Close learn the outcome, not
// that the log is closed.
func TestCloseDuringWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on, log := begun(t, aof.Always, 0)
		goOn := make(chan struct{})
		on.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if op.Kind == crashdisk.Sync {
				<-goOn
			}
			return crashdisk.Fault{}
		})
		end := log.Append(group(0, "SET a 1"), 1)
		waited, closed := make(chan error, 1), make(chan error, 1)
		go func() { waited <- log.Wait(end, nil) }()
		synctest.Wait()
		go func() { closed <- log.Close() }()
		synctest.Wait()
		close(goOn)
		require.NoError(t, <-waited)
		require.NoError(t, <-closed)
	})
}
