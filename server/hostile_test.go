package server_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

const tooManyClients = "-ERR max number of clients reached\r\n"

// infoField returns one line of INFO.
func infoField(t *testing.T, w *wire, field string) string {
	t.Helper()
	return fieldOf(t, w.call(t, "INFO", "everything"), field)
}

// fieldOf returns one line of a reply to INFO.
func fieldOf(t *testing.T, info, field string) string {
	t.Helper()
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	require.Fail(t, "INFO has no "+field)
	return ""
}

func TestMaxClientsFlood(t *testing.T) {
	t.Parallel()
	const maxClients, flood = 5, 500
	srv, _, _ := serveWith(t, config.New(), "--maxclients", strconv.Itoa(maxClients))
	admitted := make([]*wire, maxClients)
	for i := range admitted {
		admitted[i] = connect(t, srv)
		require.Equal(t, "+PONG", admitted[i].call(t, "PING"))
	}
	var rejected sync.WaitGroup
	var stops []func()
	for _, c := range admitted {
		stops = append(stops, meanwhile(t, func() error { return c.exchange("PING\r\n") }))
	}
	for range 10 {
		rejected.Go(func() {
			for range flood / 10 {
				require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t))
			}
		})
	}
	rejected.Wait()
	for _, stop := range stops {
		stop()
	}
	require.Equal(t, strconv.Itoa(maxClients), infoField(t, admitted[0], "connected_clients"))
	require.Equal(t, strconv.Itoa(maxClients), infoField(t, admitted[0], "maxclients"))
	require.Equal(t, strconv.Itoa(flood), infoField(t, admitted[0], "rejected_connections"))
	require.Equal(t, strconv.Itoa(maxClients), infoField(t, admitted[0], "total_connections_received"))
}

// TestMaxClientsPipeliningClients: a client that sends without waiting sees the
// error too.
func TestMaxClientsPipeliningClients(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--maxclients", "1")
	require.Equal(t, "+PONG", connect(t, srv).call(t, "PING"))
	for range 100 {
		c := connect(t, srv)
		_, _ = c.conn.Write([]byte("PING\r\n")) // it may be closed already
		reply, _ := c.readReply()
		require.Equal(t, tooManyClients, string(reply))
	}
}

// TestClosedClientsLeaveTheirPlaces: the places of clients are free once their connections are closed.
func TestClosedClientsLeaveTheirPlaces(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--maxclients", "1")
	for range 3 {
		eventually(t, func() bool {
			c := connect(t, srv)
			_ = c.sendRaw([]byte("QUIT\r\n")) // it may be closed already
			reply, err := c.readReply()
			return err == nil && string(reply) == "+OK\r\n"
		}, func() {})
	}
}

// TestTimeout waits for one second, the smallest timeout, which also idle clients have from CONFIG SET on.
// TestTimeoutSparesActiveClients has clients that send commands.
func TestTimeout(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	idle, half := connect(t, srv), connect(t, srv)
	require.Equal(t, "+PONG", idle.call(t, "PING"))
	require.NoError(t, half.sendRaw([]byte("*2\r\n$4\r\nECHO\r\n$10\r\nabc")))
	require.Equal(t, "+OK", connect(t, srv).call(t, "CONFIG", "SET", "timeout", "1"))
	idle.awaitClose(t)
	half.awaitClose(t)
}

// requireServes requires that the server serves a new connection.
func requireServes(t *testing.T, srv *server.Server) {
	t.Helper()
	require.Equal(t, "+PONG", connect(t, srv).call(t, "PING"))
}

func TestQueryBufferLimit(t *testing.T) {
	t.Parallel()
	srv, _, logged := serveWith(t, config.New(), "--client-query-buffer-limit", "1mb")
	c := connect(t, srv)
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", 1<<20-100)))
	// The server may close early.
	_ = c.sendRaw([]byte("*2\r\n$4\r\nECHO\r\n$4194304\r\n" + strings.Repeat("x", 4<<20)))
	require.Zero(t, c.awaitClose(t), "there is no reply")
	require.Contains(t, logged(), "client-query-buffer-limit")
	other := connect(t, srv)
	require.Equal(t, "1", infoField(t, other, "client_query_buffer_limit_disconnections"))
	require.Equal(t, "0", infoField(t, other, "client_output_buffer_limit_disconnections"))
	requireServes(t, srv)
}

// TestGarbage: invalid input is answered with an error or a close, and does not
// affect other clients.
func TestGarbage(t *testing.T) {
	t.Parallel()
	srv, _, logged := serveWith(t, config.New())
	bystander := connect(t, srv)
	random := rand.New(rand.NewPCG(20, 0))
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, input := range map[string][]byte{
		"noise":                noise,
		"a TLS greeting":       append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, noise[:500]...),
		"an HTTP request":      []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"no line end":          bytes.Repeat([]byte("x"), 1<<20),
		"NULs":                 make([]byte, 1<<20),
		"stars":                bytes.Repeat([]byte("*"), 1<<20),
		"empty lines":          bytes.Repeat([]byte("\r\n"), 1<<19),
		"empty commands":       bytes.Repeat([]byte("*0\r\n"), 1<<18),
		"a huge count":         []byte("*2147483647\r\n$1\r\nx\r\n"),
		"a huge bulk":          []byte("*1\r\n$536870912\r\nx"),
		"deep Lua":             []byte("EVAL \"" + strings.Repeat("(", 50_000) + "\" 0\r\n"),
		"commands in commands": bytes.Repeat([]byte("MULTI\r\nMULTI\r\nEXEC\r\nEXEC\r\n"), 1000),
	} {
		c := connect(t, srv)
		_ = c.sendRaw(input) // the server may close early
		_ = c.conn.(*net.TCPConn).CloseWrite()
		c.awaitClose(t)
		require.Equal(t, "+PONG", bystander.call(t, "PING"), name)
	}
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { bystander.call(t, "PING") })
	require.NotContains(t, logged(), "panic")
}
