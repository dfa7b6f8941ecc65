package server_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// awaitBlocked waits until the given number of clients is blocked.
func (w *wire) awaitBlocked(t *testing.T, clients int) {
	t.Helper()
	eventually(t, func() bool { return infoField(t, w, "blocked_clients") == fmt.Sprint(clients) },
		func() {}, "there are never %d blocked clients", clients)
}

// sendLine sends a line, in which words are quoted as redis-cli does.
func (w *wire) sendLine(t *testing.T, line string) {
	t.Helper()
	require.NoError(t, w.send(wordsOf(t, line)))
}

// Shutdown does not wait for blocked clients.
func TestCloseWithBlockedClients(t *testing.T) {
	before := runtime.NumGoroutine()
	srv := start(t, "--bind", "127.0.0.1")
	a, b := connect(t, srv), connect(t, srv)
	a.sendLine(t, "BLPOP k 0")
	b.awaitBlocked(t, 1)
	c := connect(t, srv)
	c.sendLine(t, "BLPOP k 3600")
	b.awaitBlocked(t, 2)
	require.NoError(t, srv.Close())
	require.Zero(t, a.awaitClose(t))
	require.Zero(t, c.awaitClose(t))
	for end := time.Now().Add(wireTimeout); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		// Other tests may run in parallel: only lasting growth is a leak.
		require.True(t, time.Now().Before(end), "goroutines leak")
	}
}

// Many clients block on one key and as many elements are pushed. Each element is
// delivered once, however pushes, timeouts and disconnects interleave.
func TestBlockingDeliversEachElementOnce(t *testing.T) {
	const clients, rounds = 8, 60
	srv := start(t, "--bind", "127.0.0.1")
	counts := make(chan int, clients)
	for i := range clients {
		a := connect(t, srv)
		go func() {
			got := 0
			for {
				line := "BLPOP k stop 0"
				if i%2 == 0 {
					line = "BLMOVE k done LEFT RIGHT 0.002"
				}
				if a.send(wordsOf(t, line)) != nil {
					break
				}
				reply, err := a.readReply()
				if err != nil {
					break
				}
				if bytes.HasPrefix(reply, []byte("*2")) {
					if bytes.Contains(reply, []byte("stop")) {
						break
					}
					got++
				}
				if i%2 == 0 {
					if a.send(wordsOf(t, "EXISTS end")) != nil {
						break
					}
					if reply, err = a.readReply(); err != nil || string(reply) == ":1\r\n" {
						break
					}
				}
			}
			counts <- got
		}()
	}
	b := connect(t, srv)
	for i := range rounds {
		doLine(t, b, fmt.Sprintf("RPUSH k %d %d %d", i, i, i))
	}
	for doLine(t, b, "LLEN k") != ":0" {
		runtime.Gosched()
	}
	doLine(t, b, "SET end 1")
	for range clients / 2 {
		doLine(t, b, "RPUSH stop x")
	}
	got := 0
	for range clients {
		got += <-counts
	}
	var moved int
	_, err := fmt.Sscanf(doLine(t, b, "LLEN done"), ":%d", &moved)
	require.NoError(t, err)
	require.Equal(t, 3*rounds, got+moved)
}
