package engine

import (
	"strings"
	"sync"
	"testing"
)

// TestWatchersAreFoundUnderLocks runs a call that names a key whose shard it does not
// lock, here of a script that there is not, while another session watches and forgets
// keys of that shard. The race detector is the judge.
func TestWatchersAreFoundUnderLocks(t *testing.T) {
	e := newLogged(t, nil)
	arrived := func() int64 { return 1 }
	caller := e.NewSession(Peer{Arrived: arrived})
	watcher, other := open(t, e), open(t, e)
	defer caller.Close()
	send(other, "WATCH", "elsewhere") // so that calls look for watchers at all
	const rounds = 2_000
	var both sync.WaitGroup
	both.Go(func() {
		for range rounds {
			send(caller, "EVALSHA", strings.Repeat("f", 40), "1", "k")
		}
	})
	both.Go(func() {
		for range rounds {
			send(watcher, "WATCH", "k")
			send(watcher, "UNWATCH")
		}
	})
	both.Wait()
}
