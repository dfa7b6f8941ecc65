package engine

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/store"
)

// newRoleEngine returns an engine whose links reach nobody.
func newRoleEngine() *Engine {
	still := func() int64 { return 1_700_000_000_000_000 }
	return New(Options{
		Config: config.New(), Clock: clock.New(clock.Sources{Monotonic: still, Wall: still}),
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) { return nil, io.EOF },
	})
}

func (e *Engine) withAllLocked(fn func()) {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	fn()
}

// newFollower makes the engine a replica and returns what its master would feed.
func (e *Engine) newFollower(t *testing.T) (f *follower) {
	e.withAllLocked(func() {
		e.repl.stream.Activate()
		require.NoError(t, e.followMaster("h", 1, nil))
		f = &follower{engine: e, epoch: e.repl.epoch.Load()}
		f.session = e.newMasterSession(f, "h")
	})
	return f
}

func fields(line string) [][]byte { return bytes.Fields([]byte(line)) }

// TestFormerMasterChangesNothing: a master that is one no longer neither names the history nor adds to it.
func TestFormerMasterChangesNothing(t *testing.T) {
	e := newRoleEngine()
	f := e.newFollower(t)
	ping := replication.Command("PING")
	require.NoError(t, f.Apply([][]byte{[]byte("PING")}, ping, nil))
	require.EqualValues(t, len(ping), e.repl.stream.Position().Offset)
	e.repl.stream.Tell(ping)
	require.EqualValues(t, len(ping), e.repl.stream.Position().Offset, "a replica's own pings")

	e.withAllLocked(e.promote)
	own := e.repl.stream.Position()
	require.ErrorIs(t, f.Continue(replication.NewID()), errNotMaster)
	for _, name := range []string{"PING", "SELECT 1", "FLUSHALL"} {
		args := fields(name)
		require.ErrorIs(t, f.Apply(args, ping, nil), errNotMaster)
		f.raw = append(f.raw, ping...)
		require.ErrorIs(t, f.inRole(f.commit), errNotMaster)
	}
	require.Equal(t, own, e.repl.stream.Position())
	require.ErrorIs(t, f.empty(), errNotMaster)
}

// TestMasterSessionIsCountedWhileItIsUp: what the master's session takes counts until the link is down.
func TestMasterSessionIsCountedWhileItIsUp(t *testing.T) {
	e := newRoleEngine()
	f := e.newFollower(t)
	before := e.MemoryUse().Clients
	for range 3 {
		f.Connected(true)
		for _, line := range []string{"MULTI", "SET k v", "SET k w"} {
			require.NoError(t, f.Apply(fields(line), []byte(line), nil))
		}
		f.Idle()
		require.Greater(t, e.MemoryUse().Clients, before+sessionBytes)
		f.Connected(false)
		require.Equal(t, before, e.MemoryUse().Clients)
	}
}

// TestForeignCommandEndsHistory: after a command that cannot be carried out the server has a state that is in
// no history.
func TestForeignCommandEndsHistory(t *testing.T) {
	e := newRoleEngine()
	f := e.newFollower(t)
	require.NoError(t, f.Apply(fields("SET k v"), replication.Command("SET", "k", "v"), nil))
	_, ok := f.Position()
	require.True(t, ok)
	require.ErrorIs(t, f.Apply(fields("XADD k * a b"), []byte("..."), nil), replication.ErrForeign)
	_, ok = f.Position()
	require.False(t, ok)
}

// TestWriteAdmittedByFormerMaster: a write that was admitted before the server became a replica is refused.
func TestWriteAdmittedByFormerMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newRoleEngine()
		s := e.NewSession(Peer{})
		defer s.Close()
		replies := make(chan string, 1)
		e.withAllLocked(func() {
			go func() {
				reply := s.Do(fields("SET k v"))
				replies <- reply.Str()
			}()
			synctest.Wait() // it is admitted and waits for the shard
			require.NoError(t, e.followMaster("h", 1, nil))
		})
		require.Contains(t, <-replies, "READONLY")
		e.withAllLocked(e.promote)
		reply := s.Do(fields("SET k v"))
		require.Equal(t, "OK", reply.Str())
		synctest.Wait()
	})
}
