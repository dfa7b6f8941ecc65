package server_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// TestClientEviction: of clients that make the server keep much for them, those
// that pass maxmemory-clients are closed, and a small one is not.
func TestClientEviction(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	for name, grow := range map[string]func(t *testing.T, c *wire){
		"a long argument": func(_ *testing.T, c *wire) {
			half := strings.Repeat("x", 2*limit)
			_ = c.sendRaw(fmt.Appendf(nil, "*2\r\n$4\r\nECHO\r\n$%d\r\n%s", 4*limit, half))
		},
		"MULTI without EXEC": func(t *testing.T, c *wire) {
			require.Equal(t, "+OK", c.call(t, "MULTI"))
			set := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$65536\r\n%s\r\n", strings.Repeat("x", 64<<10))
			_ = c.sendRaw([]byte(strings.Repeat(set, 2*limit/len(set))))
		},
		"unread replies": func(t *testing.T, c *wire) {
			require.NoError(t, c.conn.(*net.TCPConn).SetReadBuffer(16<<10))
			_ = c.sendRaw(bytes.Repeat([]byte("GET big\r\n"), 30))
		},
		"WATCH of 100,000 keys":        names(100_000, "WATCH"),
		"SUBSCRIBE of 300,000":         names(300_000, "SUBSCRIBE"),
		"PSUBSCRIBE of 100,000":        names(100_000, "PSUBSCRIBE"),
		"SSUBSCRIBE of 100,000":        names(100_000, "SSUBSCRIBE"),
		"TRACKING of 100,000 prefixes": names(100_000, "CLIENT", "TRACKING", "ON", "BCAST"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _, logged := serveWith(t, config.New(), "--maxmemory-clients", "8mb")
			good := connect(t, srv)
			require.Equal(t, "+OK", good.call(t, "SET", "big", strings.Repeat("v", 1<<20)))
			bad := connect(t, srv)
			grow(t, bad)
			eventually(t, func() bool { return infoField(t, good, "evicted_clients") == "1" }, func() {})
			bad.awaitClose(t)
			awaitOnlyWatcher(t, srv, good)
			require.Contains(t, logged(), "Evicting client: id=")
			eventually(t, func() bool { return srv.Engine().MemoryUse().Clients < limit/8 }, func() {
				good.call(t, "PING")
			})
		})
	}
}

// names sends one command of n names.
func names(n int, words ...string) func(t *testing.T, c *wire) {
	return func(_ *testing.T, c *wire) {
		var args [][]byte
		for _, word := range words {
			args = append(args, []byte(word))
		}
		for i := range n {
			if words[0] == "CLIENT" {
				args = append(args, []byte("PREFIX"))
			}
			args = append(args, fmt.Appendf(nil, "name:%06d", i))
		}
		_ = c.send(args)
	}
}

// TestClientEvictionSparesReaders: a client whose replies wait only until it reads
// them is closed by nothing once it has read, and what it took is given back.
func TestClientEvictionSparesReaders(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--maxmemory-clients", "100mb")
	watcher := connect(t, srv)
	slow := startSlowReader(t, srv, 30)
	eventually(t, func() bool { return srv.Engine().MemoryUse().Clients > 10<<20 }, func() {
		watcher.call(t, "PING")
	})
	for range 30 {
		slow.reply(t)
	}
	require.Equal(t, "+PONG", slow.call(t, "PING"))
	eventually(t, func() bool { return srv.Engine().MemoryUse().Clients < 5<<20 }, func() {
		watcher.call(t, "PING")
	})
	require.Equal(t, "0", infoField(t, watcher, "evicted_clients"))
}

// TestUnreadRepliesBeforeAuth: before AUTH a client may leave a kilobyte of replies
// unread beyond what its socket takes, whatever client-output-buffer-limit says.
// After AUTH that directive applies.
func TestUnreadRepliesBeforeAuth(t *testing.T) {
	t.Parallel()
	srv, _, logged := serveWith(t, config.New(), "--requirepass", "secret")
	watcher := connect(t, srv)
	require.Equal(t, "+OK", watcher.call(t, "AUTH", "secret"))
	require.Equal(t, "+OK", watcher.call(t, "SET", "big", strings.Repeat("v", 1<<20)))

	stranger := connect(t, srv)
	require.NoError(t, stranger.conn.(*net.TCPConn).SetReadBuffer(16<<10))
	pings := bytes.Repeat([]byte("PING\r\n"), 10_000)
	var err error
	for range 200 { // replies of 68 MB, more than sockets take
		if err = stranger.sendRaw(pings); err != nil {
			break
		}
	}
	require.Error(t, err, "the server closes the connection")
	awaitOnlyWatcher(t, srv, watcher)
	require.Contains(t, logged(), "closed by client-output-buffer-limit id=")

	friend := connect(t, srv)
	require.NoError(t, friend.conn.(*net.TCPConn).SetReadBuffer(16<<10))
	require.NoError(t, friend.sendRaw([]byte("AUTH secret\r\n"+strings.Repeat("GET big\r\n", 20))))
	require.Equal(t, "+OK", friend.reply(t))
	for range 20 {
		require.Len(t, friend.reply(t), len("$1048576\r\n")+1<<20)
	}
	requireReader(t, srv)
}

// requireReader requires that a client may send many commands before AUTH if it
// reads the replies.
func requireReader(t *testing.T, srv *server.Server) {
	t.Helper()
	c := connect(t, srv)
	for range 1000 {
		require.Equal(t, "-NOAUTH Authentication required.", c.call(t, "PING"))
	}
}
