package upstream

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/upstream/call"
)

// asks returns the calls of GET among those that a node was asked.
func asks(calls []string) (n int) {
	for _, c := range calls {
		if strings.HasPrefix(c, "GET ") {
			n++
		}
	}
	return n
}

// TestHalfOpen: a node that is away is tried by one round trip at a time, whoever asks. Everybody else gets an
// error at once, also while the try is under way, and goes on when it has succeeded.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	hangUp := func([]string) string { return "" }
	f := newFake(t, constant("+OK\r\n"))
	u := open(t, "redis+single://"+f.addr, func(o *Options) { o.Timeout = 20 * time.Second })
	n := u.node(f.addr)
	const databases = 8 // each has a queue and a connection of its own
	ask := func(db int) string {
		c := newCall("GET k")
		c.DB = db
		u.Run([]*call.Call{c})
		return string(c.Reply)
	}
	for db := range databases {
		require.Equal(t, "+OK\r\n", ask(db))
	}
	f.set(hangUp)
	for n.awaySince.Load() == 0 {
		require.Contains(t, ask(0), "-UPSTREAM "+f.addr)
	}
	isAway := func(reply string) bool { return strings.Contains(reply, errAway.Error()) }
	require.True(t, isAway(ask(1)))
	f.asked()
	require.True(t, isAway(ask(1)))
	require.Zero(t, asks(f.asked()), "nothing is sent while it is away")

	// A try that fails.
	failed := n.failures.Load()
	eventually(t, func() bool { return isAway(ask(2)) && n.failures.Load() > failed })
	require.Equal(t, failed+1, n.failures.Load())
	require.True(t, isAway(ask(3)))

	// A try under way, and nothing else.
	answer := make(chan struct{})
	f.set(func([]string) string {
		<-answer
		return "+OK\r\n"
	})
	var trying sync.WaitGroup
	var tried string
	f.asked()
	trying.Go(func() {
		for tried = ask(0); isAway(tried); tried = ask(0) {
		}
	})
	seen := 0
	eventually(t, func() bool {
		seen += asks(f.asked())
		return seen > 0
	})
	trips := n.trips.Load()
	for i := range 10 * databases {
		require.True(t, isAway(ask(1+i%(databases-1))))
	}
	require.Equal(t, trips, n.trips.Load())
	require.Equal(t, 1, seen+asks(f.asked()))
	require.Contains(t, u.status("node0"), "state=away")
	close(answer)
	trying.Wait()
	require.Equal(t, "+OK\r\n", tried)
	for db := range databases {
		require.Equal(t, "+OK\r\n", ask(db), "%d", db)
	}
	require.Contains(t, u.status("node0"), fmt.Sprintf("addr=%s,state=ok,away_seconds=0", f.addr))
}
