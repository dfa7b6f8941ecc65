package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// TestPipelineBeforeTheFirstReply: the client sends everything before it reads
// anything, without a deadlock.
func TestPipelineBeforeTheFirstReply(t *testing.T) {
	t.Parallel()
	const commands = 300_000
	srv, _, _ := serveWith(t, config.New())
	c := connect(t, srv)
	require.NoError(t, c.sendRaw(bytes.Repeat([]byte("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"), commands)))
	want := make([]byte, 0, 10*commands)
	for n := range commands {
		want = fmt.Appendf(want, ":%d\r\n", n+1)
	}
	got := make([]byte, len(want))
	_, err := io.ReadFull(c.r, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "every command is answered, in order")
	require.Equal(t, "+PONG", c.call(t, "PING"))
}

// TestHalfClosed: a client may close its sending side and then read any amount of
// replies, however late.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	const replies = 30
	srv, _, _ := serveWith(t, config.New())
	srv.ExtendLingerTimeout()
	watcher := connect(t, srv)
	require.Equal(t, "+PONG", watcher.call(t, "PING"))
	c := startSlowReader(t, srv, replies)
	require.NoError(t, c.sendRaw([]byte("GET half")))
	require.NoError(t, c.conn.(*net.TCPConn).CloseWrite())
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { watcher.call(t, "PING") },
		"the end is not noticed")
	require.Len(t, c.readToEnd(t), replies*(len("$1048576\r\n")+1<<20+2))
}

// startSlowReader returns a client that has requested n megabytes and reads none.
func startSlowReader(t *testing.T, srv *server.Server, n int) *wire {
	t.Helper()
	c := connect(t, srv)
	require.NoError(t, c.conn.(*net.TCPConn).SetReadBuffer(64<<10))
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", 1<<20)))
	require.NoError(t, c.sendRaw(bytes.Repeat([]byte("GET k\r\n"), n)))
	return c
}

// awaitOnlyWatcher waits until the server has disconnected all clients but the
// watcher.
func awaitOnlyWatcher(t *testing.T, srv *server.Server, watcher *wire) {
	t.Helper()
	watcher.call(t, "PING") // its session must exist before sessions are counted
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { watcher.call(t, "PING") },
		"a client that does not read stays connected")
}
