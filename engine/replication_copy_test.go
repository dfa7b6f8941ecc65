package engine

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// onDisk returns an engine that has loaded its files from disk.
func onDisk(t *testing.T, disk *crashdisk.Disk, directives ...string) *Engine {
	still := func() int64 { return 1_700_000_000_000_000 }
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(directives, nil))
	e := New(Options{
		Config: cfg, Disk: disk.FS(), Clock: clock.New(clock.Sources{Monotonic: still, Wall: still}),
	})
	require.NoError(t, e.Open())
	require.NoError(t, e.Load(func() {}))
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestCopyReachesLogThatStarts loads a master's copy while a log that was switched on waits for a save to
// end.
func TestCopyReachesLogThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newRoleEngine()
		s := from.NewSession(Peer{})
		defer s.Close()
		s.Do(fields("SET k v"))
		var copied bytes.Buffer
		none := func() durable.History { return durable.History{} }
		require.NoError(t, from.storage.Copy(&copied, nil, none))

		disk := crashdisk.New(1)
		e := onDisk(t, disk, "--save", "")
		saved := make(chan struct{})
		disk.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if op.Kind == crashdisk.Rename && op.Name == "dump.rdb" {
				<-saved
			}
			return crashdisk.Fault{}
		})
		c := e.NewSession(Peer{})
		defer c.Close()
		c.Do(fields("BGSAVE"))
		synctest.Wait()
		c.Do(fields("CONFIG SET appendonly yes"))
		require.True(t, e.storage.Status().Starting)

		_, err := e.storage.Replace(bytes.NewReader(copied.Bytes()), int64(copied.Len()), durable.History{},
			func() error {
				close(saved)
				synctest.Wait() // whatever the end of the save begins has ended
				return nil
			}, func() {})
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, e.storage.Status().Logging)
		require.NoError(t, e.Close())

		again := onDisk(t, disk, "--appendonly", "yes")
		require.Equal(t, 1, again.store.DB(0).Len())
	})
}
