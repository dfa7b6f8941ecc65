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

// TestPipelineBeforeTheFirstReply: neither side may wait for the other while
// the client sends everything before it reads anything.
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

// TestHalfClosed: a client that has sent everything may end that side and
// read, however much it is and however late it begins.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	const replies = 30
	srv, _, _ := serveWith(t, config.New())
	srv.ExtendLingerTimeout()
	watcher := connect(t, srv)
	require.Equal(t, "+PONG", watcher.call(t, "PING"))
	c := deaf(t, srv, replies)
	require.NoError(t, c.sendRaw([]byte("GET half")))
	require.NoError(t, c.conn.(*net.TCPConn).CloseWrite())
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { watcher.call(t, "PING") }, "the end is noticed")
	require.Len(t, c.rest(t), replies*(len("$1048576\r\n")+1<<20+2))
}

// deaf is a client that has asked for n megabytes and reads none of them.
func deaf(t *testing.T, srv *server.Server, n int) *wire {
	t.Helper()
	c := connect(t, srv)
	require.NoError(t, c.conn.(*net.TCPConn).SetReadBuffer(64<<10))
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", 1<<20)))
	require.NoError(t, c.sendRaw(bytes.Repeat([]byte("GET k\r\n"), n)))
	return c
}

// onlyOneLeft waits until the server has given up everybody but the watcher.
func onlyOneLeft(t *testing.T, srv *server.Server, watcher *wire) {
	t.Helper()
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { watcher.call(t, "PING") },
		"a client that does not read is disconnected")
}

func TestOutputHardLimit(t *testing.T) {
	t.Parallel()
	srv, _, logged := serveWith(t, config.New(), "--client-output-buffer-limit", "normal 20mb 0 0")
	watcher := connect(t, srv)
	c := deaf(t, srv, 100)
	onlyOneLeft(t, srv, watcher)
	require.Less(t, c.cut(t), int64(100<<20))
	require.Contains(t, logged(), "closed by client-output-buffer-limit")
}

// TestOutputSoftLimit: the client is silent when its second is over, so
// nothing but the server itself can notice.
func TestOutputSoftLimit(t *testing.T) {
	t.Parallel()
	srv, _, logged := serveWith(t, config.New(), "--client-output-buffer-limit", "normal 0 1mb 1")
	watcher := connect(t, srv)
	c := deaf(t, srv, 30)
	onlyOneLeft(t, srv, watcher)
	require.Less(t, c.cut(t), int64(30<<20))
	require.Contains(t, logged(), "closed by client-output-buffer-limit")
}

func TestOutputLimitAtRunTime(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	watcher := connect(t, srv)
	c := deaf(t, srv, 30)
	require.Contains(t, watcher.call(t, "CLIENT", "LIST"), "addr="+c.conn.LocalAddr().String())
	// Until all commands have run: what waits is then more than the limit.
	eventually(t, func() bool { return strings.Contains(watcher.call(t, "INFO", "commandstats"), "cmdstat_get:calls=30,") }, func() {})
	require.Equal(t, "+OK", watcher.call(t, "CONFIG", "SET", "client-output-buffer-limit", "normal 1mb 0 0"))
	onlyOneLeft(t, srv, watcher)
}

// TestOutputWithinLimit: as much as one likes may pass, as long as it is read.
func TestOutputWithinLimit(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--client-output-buffer-limit", "normal 8mb 0 0")
	c := connect(t, srv)
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", 1<<20)))
	for range 30 {
		require.Len(t, c.call(t, "GET", "k"), len("$1048576\r\n")+1<<20)
	}
}

// TestClientListShowsWhatWaits is how an operator finds such a client.
func TestClientListShowsWhatWaits(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	watcher := connect(t, srv)
	c := deaf(t, srv, 30)
	eventually(t, func() bool {
		for line := range strings.Lines(watcher.call(t, "CLIENT", "LIST")) {
			if strings.Contains(line, "addr="+c.conn.LocalAddr().String()) {
				var waiting int
				_, after, _ := strings.Cut(line, " omem=")
				_, err := fmt.Sscan(after, &waiting)
				return err == nil && waiting > 1<<20
			}
		}
		return false
	}, func() {})
}
