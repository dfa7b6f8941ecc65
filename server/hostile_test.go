package server_test

import (
	"bytes"
	"fmt"
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
	for line := range strings.Lines(w.call(t, "INFO")) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	require.Fail(t, "INFO has no "+field)
	return ""
}

func TestMaxClientsDefault(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	require.Equal(t, "*2\r\n$10\r\nmaxclients\r\n$5\r\n10000",
		connect(t, srv).call(t, "CONFIG", "GET", "maxclients"))
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
	var rejected, busy sync.WaitGroup
	stop := make(chan struct{})
	for _, c := range admitted {
		busy.Go(func() {
			for running := true; running; {
				select {
				case <-stop:
					running = false
				default:
				}
				require.Equal(t, "+PONG", c.call(t, "PING"))
			}
		})
	}
	for range 10 {
		rejected.Go(func() {
			for range flood / 10 {
				require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t))
			}
		})
	}
	rejected.Wait()
	close(stop)
	busy.Wait()
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

func TestMaxClientsAtRunTime(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--maxclients", "2")
	a, b := connect(t, srv), connect(t, srv)
	require.Equal(t, "+PONG", b.call(t, "PING"))
	require.Equal(t, "+PONG", a.call(t, "PING"))
	require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t))

	require.Equal(t, "+OK", a.call(t, "CONFIG", "SET", "maxclients", "3"))
	c := connect(t, srv)
	require.Equal(t, "+PONG", c.call(t, "PING"))
	require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t))

	require.Equal(t, "+OK", a.call(t, "CONFIG", "SET", "maxclients", "1"))
	require.Equal(t, "+PONG", c.call(t, "PING"), "connected clients stay")
	require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t))
	require.Equal(t, "+OK\r\n", quit(t, b))
	require.Equal(t, "+OK\r\n", quit(t, c))
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { a.call(t, "PING") })
	require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t), "maxclients is 1")
	require.Equal(t, "4", infoField(t, a, "rejected_connections"))

	require.Equal(t, "+OK", a.call(t, "CONFIG", "SET", "maxclients", "2"))
	// The places of b and c are free once their connections are closed.
	eventually(t, func() bool {
		w := connect(t, srv)
		require.NoError(t, w.sendRaw([]byte("PING\r\n")))
		reply, err := w.readReply()
		return err == nil && string(reply) == "+PONG\r\n"
	}, func() {})
}

func quit(t *testing.T, w *wire) string {
	t.Helper()
	require.NoError(t, w.sendRaw([]byte("QUIT\r\n")))
	return w.readToEnd(t)
}

// TestTimeout waits for one second, the smallest timeout.
// TestTimeoutSparesActiveClients has clients that send commands.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(t *testing.T) (*server.Server, *wire){
		"from the start": func(t *testing.T) (*server.Server, *wire) {
			srv, _, _ := serveWith(t, config.New(), "--timeout", "1")
			return srv, connect(t, srv)
		},
		"by CONFIG SET, for an idle client": func(t *testing.T) (*server.Server, *wire) {
			srv, _, _ := serveWith(t, config.New())
			idle := connect(t, srv)
			require.Equal(t, "+PONG", idle.call(t, "PING"))
			require.Equal(t, "+OK", connect(t, srv).call(t, "CONFIG", "SET", "timeout", "1"))
			return srv, idle
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, idle := set(t)
			half := connect(t, srv)
			require.NoError(t, half.sendRaw([]byte("*2\r\n$4\r\nECHO\r\n$10\r\nabc")))
			idle.awaitClose(t)
			half.awaitClose(t)
		})
	}
}

func TestProtoMaxBulkLen(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	refused := "-ERR Protocol error: invalid bulk length\r\n"
	srv, _, _ := serveWith(t, config.New(), "--proto-max-bulk-len", "1mb")
	c := connect(t, srv)
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", limit)), "the limit itself is allowed")
	require.NoError(t, c.sendRaw(fmt.Appendf(nil, "PING\r\n*2\r\n$3\r\nGET\r\n$%d\r\n", limit+1)))
	require.Equal(t, "+PONG\r\n"+refused, c.readToEnd(t), "earlier commands are answered")

	c = connect(t, srv)
	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "proto-max-bulk-len", "2mb"))
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", limit+1)))
	require.NoError(t, c.sendRaw([]byte("CONFIG SET proto-max-bulk-len 1mb\r\n*1\r\n$1048577\r\n")))
	require.Equal(t, "+OK\r\n", c.reply(t)+"\r\n")
	_ = c.sendRaw(bytes.Repeat([]byte("x"), limit+3)) // checked at its length line
	requireServes(t, srv)
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

// TestBeforeAuth: before AUTH a client may neither send much nor make the server
// allocate much.
func TestBeforeAuth(t *testing.T) {
	t.Parallel()
	const count, size = 10, 16 << 10
	srv, _, _ := serveWith(t, config.New(), "--requirepass", "secret")
	full := make([]string, count)
	for i := range full {
		full[i] = strings.Repeat("x", size)
	}
	full[0] = "MSET"

	c := connect(t, srv)
	require.Equal(t, "-NOAUTH Authentication required.", c.call(t, full...), "the limit itself is allowed")
	require.NoError(t, c.sendRaw([]byte("*11\r\n")))
	require.Equal(t, "-ERR Protocol error: unauthenticated multibulk length\r\n", c.readToEnd(t))

	c = connect(t, srv)
	require.NoError(t, c.sendRaw([]byte("*2\r\n$4\r\nAUTH\r\n$16385\r\n")))
	require.Equal(t, "-ERR Protocol error: unauthenticated bulk length\r\n", c.readToEnd(t))

	c = connect(t, srv)
	require.Equal(t, "-WRONGPASS invalid username-password pair or user is disabled.",
		c.call(t, "AUTH", "wrong"))
	require.Equal(t, "-NOAUTH Authentication required.", c.call(t, "PING"))
	require.NoError(t,
		c.sendRaw([]byte("AUTH secret\r\n*11\r\n$4\r\nMSET\r\n"+strings.Repeat("$1\r\na\r\n", 10)+
			"*2\r\n$4\r\nECHO\r\n$16385\r\n"+strings.Repeat("x", 16385)+"\r\nRESET\r\n*11\r\n")))
	require.Equal(t, "+OK", c.reply(t))
	require.Equal(t, "+OK", c.reply(t))
	require.True(t, strings.HasPrefix(c.reply(t), "$16385"))
	require.Equal(t, "+RESET", c.reply(t))
	require.Equal(t, "-ERR Protocol error: unauthenticated multibulk length\r\n", c.readToEnd(t),
		"RESET logs out")
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
