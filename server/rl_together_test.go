package server_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// concurrently sends one line on each of many connections at once, and returns the
// sorted replies.
func concurrently(t *testing.T, p *rlRun, lines []string) []string {
	wires := make([]*wire, len(lines))
	for i := range lines {
		wires[i] = connect(t, p.srv)
	}
	replies := make([]string, len(lines))
	var ready, all sync.WaitGroup
	ready.Add(len(lines))
	for i := range lines {
		all.Go(func() {
			ready.Done()
			ready.Wait()
			replies[i] = p.call(wires[i], lines[i])
		})
	}
	all.Wait()
	slices.Sort(replies)
	return replies
}

// TestConcurrentHolds: one id is one hold, and a slot is acquired once, whatever
// the number of concurrent calls.
func TestConcurrentHolds(t *testing.T) {
	srv := start(t, "--bind", "127.0.0.1")
	srv.Engine().Clock().Freeze()
	p := &rlRun{t: t, srv: srv, wire: connect(t, srv)}
	const clients = 12
	for round := range 8 {
		repeat := func(line string) []string { return slices.Repeat([]string{line}, clients) }
		key := fmt.Sprint("k", round)
		require.Equal(t, repeat("[3 10 7 0 60000]"),
			concurrently(t, p, repeat("RL.RESERVE "+key+" 10 1m 3 HOLD 1m ID a")))
		require.Regexp(t, `^\[\d+:3\]$`, p.call(p.wire, "ZRANGE "+key+" 0 -1"))
		require.Equal(t, repeat("[5 2]"), concurrently(t, p, repeat("RL.SETTLE "+key+" a 5")))
		require.Regexp(t, `^\[\d+:3 \d+:2\]$`, p.call(p.wire, "ZRANGE "+key+" 0 -1"))

		var acquire, release, want []string
		for i := range clients {
			acquire = append(acquire, fmt.Sprint("RL.ACQUIRE s", round, " 2 LEASE 1m ID c", i))
			release = append(release, fmt.Sprint("RL.RELEASE s", round, " c", i))
			want = append(want, "[0 2 2 60000]")
		}
		want[clients-2], want[clients-1] = "[1 1 2 0]", "[1 2 2 60000]"
		require.Equal(t, want, concurrently(t, p, acquire))
		require.Equal(t, append(slices.Repeat([]string{"0"}, clients-2), "1", "1"),
			concurrently(t, p, release))
	}
}
