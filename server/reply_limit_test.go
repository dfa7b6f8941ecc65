package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

// TestLimitStopsOutputNotEffects: a reply that passes the limit is dropped, the client is closed and counted,
// and what the command, the rest of the transaction and the script did stays, as in redis-server.
func TestLimitStopsOutputNotEffects(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300_000)
	for name, row := range map[string]struct{ input, left string }{
		"pop":          {"LPOP l 4\r\n", ":0"},
		"pops several": {"LMPOP 1 l LEFT COUNT 4\r\n", ":0"},
		"transaction":  {"MULTI\r\nLRANGE l 0 -1\r\nLRANGE l 0 -1\r\nLPOP l\r\nEXEC\r\n", ":3"},
		"script": {
			"EVAL \"local t=redis.call('LRANGE','l',0,-1) redis.call('DEL','l') return t\" 0\r\n", ":0",
		},
		"resumed":      {"BLMPOP 0 1 l LEFT COUNT 4\r\n", ":0"},
		"reads":        {"LRANGE l 0 -1\r\n", ":4"},
		"picks":        {"SADD s a\r\nSRANDMEMBER s -1000000\r\n", ":4"},
		"resp3":        {"HELLO 3\r\nLPOP l 4\r\n", ":0"},
		"long element": {"MULTI\r\nLPOP l\r\nLPOP l\r\nLPOP l\r\nLPOP l\r\nEXEC\r\n", ":0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, _, logged := serveWith(t, config.New(), "--client-output-buffer-limit", "normal 1mb 0 0")
			c, watcher := connect(t, srv), connect(t, srv)
			fill := func() {
				for range 4 {
					watcher.call(t, "RPUSH", "l", long)
				}
			}
			if name == "resumed" {
				require.NoError(t, c.sendRaw([]byte(row.input)))
				blocked := func() bool { return infoField(t, watcher, "blocked_clients") == "1" }
				eventually(t, blocked, func() {}, "it does not block")
				require.Equal(t, ":4", watcher.call(t, "RPUSH", "l", long, long, long, long))
			} else {
				fill()
				require.NoError(t, c.sendRaw([]byte(row.input)))
			}
			require.Less(t, c.awaitClose(t), int64(len(long)))
			require.Equal(t, row.left, watcher.call(t, "LLEN", "l"))
			noted := func() bool { return strings.Contains(logged(), "closed by client-output-buffer-limit") }
			eventually(t, noted, func() {}) // the client is cut before
			require.Equal(t, "1", infoField(t, watcher, "client_output_buffer_limit_disconnections"))
		})
	}
}

// TestReplyBeyondClientMemory: a reply beyond maxmemory-clients evicts its client while it is made; one that
// may not be evicted gets it.
func TestReplyBeyondClientMemory(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--maxmemory-clients", "1mb")
	watcher, c := connect(t, srv), connect(t, srv)
	require.Equal(t, "+OK", watcher.call(t, "SET", "k", strings.Repeat("v", 100_000)))
	ask := []byte("MGET" + strings.Repeat(" k", 20) + "\r\n")
	require.NoError(t, c.sendRaw(ask))
	require.Zero(t, c.awaitClose(t))
	require.Equal(t, "1", infoField(t, watcher, "evicted_clients"))
	exempt := connect(t, srv)
	require.Equal(t, "+OK", exempt.call(t, "CLIENT", "NO-EVICT", "on"))
	require.NoError(t, exempt.sendRaw(append(ask, "QUIT\r\n"...)))
	require.Greater(t, len(exempt.readToEnd(t)), 2_000_000)
}
