package engine

import (
	"strings"
	"sync"
	"testing"
)

// An ordered is a connection that never has to wait for another.
type ordered struct{}

func (ordered) AwaitEarlier(Orderer) bool { return true }

// TestWatchersAreFoundUnderLocks runs a call that names a key whose shard it does not
// lock, here of a script that there is not, while another session watches and forgets
// keys of that shard. The race detector is the judge.
func TestWatchersAreFoundUnderLocks(t *testing.T) {
	e := newLogged(t, nil)
	caller := e.NewSession(Peer{Orderer: ordered{}})
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
