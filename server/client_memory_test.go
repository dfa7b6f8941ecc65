package server_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
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
