package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTurns lets many goroutines take many turns, and closes in the middle: all of them
// return.
func TestTurns(t *testing.T) {
	turns := newTurns()
	require.NotNil(t, turns)
	const each = 300
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			mine := make(chan struct{}, 1)
			for i := range each {
				turns.wait(mine)
				if i == each/2 {
					turns.close() // by all of them, as nobody knows who is first
				}
			}
		})
	}
	all.Wait()
	require.GreaterOrEqual(t, turns.taken, each/2)
	require.Less(t, turns.taken, 8*each, "a closed one lets everybody pass")
}

// TestBusyConnectionsTakeTurns checks how often a connection steps aside: by its input,
// and by its output in the middle of a batch.
func TestBusyConnectionsTakeTurns(t *testing.T) {
	path := socketPath(t)
	srv, err := Listen(Options{Config: newConfig(t, "--port", "0", "--unixsocket", path)})
	require.NoError(t, err)
	nc, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	taken := func() int {
		turns := srv.turns.Load()
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return turns.taken
	}
	replies := bufio.NewReader(nc)
	send := func(command string) {
		_, err := io.WriteString(nc, command)
		require.NoError(t, err)
	}
	receive := func(replyBytes int) {
		_, err := io.CopyN(io.Discard, replies, int64(replyBytes))
		require.NoError(t, err)
	}
	do := func(command string, replyBytes int) {
		send(command)
		receive(replyBytes)
	}
	set := func(size int) string {
		return fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size))
	}
	// The input is all there before the server reads: one that reads as fast as its client sends waits for
	// more in between, and so takes no turn.
	send(set(turnBytes))
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve() }()
	defer func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-ended)
	}()
	receive(len("+OK\r\n"))
	do("PING\r\n", len("+PONG\r\n")) // the turn after the last reply, too, is over
	require.Equal(t, 1, taken())
	do(set(turnBytes/2), len("+OK\r\n"))
	do("PING\r\n", len("+PONG\r\n"))
	require.Equal(t, 1, taken(), "less than a turn's worth")

	const size = 4 * turnBytes
	do(set(size), len("+OK\r\n"))
	do("PING\r\n", len("+PONG\r\n"))
	before := taken()
	do(strings.Repeat("GET k\r\n", 10), 10*(size+len("$262144\r\n")+len("\r\n")))
	do("PING\r\n", len("+PONG\r\n"))
	require.GreaterOrEqual(t, taken()-before, 9, "within a batch")
	require.LessOrEqual(t, taken()-before, 12, "one after each")

	// A command of many arguments is followed by turns for its length, before the next of the same batch.
	const members = 5000
	const turns = 2 * members * argBytes / turnBytes
	long := func(members int) string { return "ZADD z" + strings.Repeat(" 1 m", members) + "\r\n" }
	around := func(what string, commands string, replies string, owed, reads int) {
		before := taken()
		do(commands, len(replies))
		do("PING\r\n", len("+PONG\r\n"))
		require.GreaterOrEqual(t, taken()-before, owed, what)
		require.LessOrEqual(t, taken()-before, owed+reads, what)
	}
	around("three long commands", strings.Repeat(long(members), 3), ":1\r\n:0\r\n:0\r\n", 3*turns, 3)
	around("a huge one", long(3*members), ":0\r\n", maxTurns, 8)
	around("short ones", strings.Repeat(long(100), 30), strings.Repeat(":0\r\n", 30), 0, 1)
	around("many of some length", strings.Repeat(long(200), 16), strings.Repeat(":0\r\n", 16), 5, 2)
	around("a transaction", "MULTI\r\n"+strings.Repeat(long(members), 2)+"EXEC\r\n",
		"+OK\r\n"+strings.Repeat("+QUEUED\r\n", 2)+"*2\r\n:0\r\n:0\r\n", maxTurns, 3)
	around("a discarded transaction", "MULTI\r\n"+strings.Repeat(long(members), 2)+"DISCARD\r\n",
		"+OK\r\n"+strings.Repeat("+QUEUED\r\n", 2)+"+OK\r\n", 0, 2)
	around("without replies", "CLIENT REPLY OFF\r\n"+strings.Repeat(long(members), 3)+"CLIENT REPLY ON\r\n",
		"+OK\r\n", 3*turns, 3)
}
