package server_test

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/server"
)

// A lineClient sends inline commands and reads replies as lines of text.
type lineClient struct {
	*wire
	t *testing.T
}

func newLineClient(t *testing.T, srv *server.Server) lineClient {
	t.Helper()
	c, err := net.Dial("tcp", srv.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return lineClient{newWire(c), t}
}

func (b lineClient) sendLine(line string) {
	b.t.Helper()
	args, err := scenario.Words(line)
	require.NoError(b.t, err)
	require.NoError(b.t, b.send(args))
}

func (b lineClient) receive() string {
	b.t.Helper()
	reply, err := b.readReply()
	require.NoError(b.t, err)
	return strings.ReplaceAll(string(reply), "\r\n", " ")
}

func (b lineClient) do(line string) string {
	b.t.Helper()
	b.sendLine(line)
	return b.receive()
}

// awaitBlocked waits until the given number of clients is blocked.
func (b lineClient) awaitBlocked(clients int) {
	b.t.Helper()
	want := fmt.Sprintf("blocked_clients:%d ", clients)
	for end := time.Now().Add(wireTimeout); ; {
		if strings.Contains(b.do("INFO clients"), want) {
			return
		}
		require.True(b.t, time.Now().Before(end), "there are never %d blocked clients", clients)
	}
}

// requireClosed waits for the server to close the connection.
func (b lineClient) requireClosed() {
	b.t.Helper()
	reply, err := b.readReply()
	require.Error(b.t, err, "%q", reply)
	var timeout net.Error
	require.NotErrorAs(b.t, err, &timeout, "the connection was not closed")
}

const blockingDirectives = "--bind 127.0.0.1 --enable-debug-command yes"

func startBlocking(t *testing.T) *server.Server {
	t.Helper()
	return start(t, strings.Fields(blockingDirectives)...)
}

// A client that hangs up is unblocked at once: elements pushed later are not lost.
func TestBlockedClientHangsUp(t *testing.T) {
	srv := startBlocking(t)
	b := newLineClient(t, srv)
	for name, hangUp := range map[string]func(a lineClient){
		"close":      func(a lineClient) { _ = a.conn.Close() },
		"half close": func(a lineClient) { _ = a.conn.(*net.TCPConn).CloseWrite() },
		"reset":      func(a lineClient) { _ = a.conn.(*net.TCPConn).SetLinger(0); _ = a.conn.Close() },
		"close behind a pipeline": func(a lineClient) {
			_ = a.sendRaw([]byte("RPUSH k y\r\nPING\r\n"))
			_ = a.conn.Close()
		},
		"CLIENT KILL": func(a lineClient) {
			b.do("CLIENT KILL ADDR " + a.conn.LocalAddr().String())
			a.requireClosed()
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newLineClient(t, srv)
			a.sendLine("BLPOP k m 0")
			b.awaitBlocked(1)
			hangUp(a)
			b.awaitBlocked(0)
			require.Equal(t, ":1 ", b.do("RPUSH k x"))
			require.Equal(t, ":1 ", b.do("DEL k"))
		})
	}
}

// Shutdown does not wait for blocked clients.
func TestCloseWithBlockedClients(t *testing.T) {
	before := runtime.NumGoroutine()
	srv := startBlocking(t)
	a, b := newLineClient(t, srv), newLineClient(t, srv)
	a.sendLine("BLPOP k 0")
	b.awaitBlocked(1)
	c := newLineClient(t, srv)
	c.sendLine("BLPOP k 3600")
	b.awaitBlocked(2)
	require.NoError(t, srv.Close())
	a.requireClosed()
	c.requireClosed()
	for end := time.Now().Add(wireTimeout); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		// Other tests may run in parallel: only lasting growth is a leak.
		require.True(t, time.Now().Before(end), "goroutines leak")
	}
}

// Input behind a blocked command is limited like any other.
func TestBlockedClientQueryBufferLimit(t *testing.T) {
	srv := start(t, "--bind", "127.0.0.1", "--client-query-buffer-limit", "1mb")
	a, b := newLineClient(t, srv), newLineClient(t, srv)
	a.sendLine("BLPOP k 0")
	b.awaitBlocked(1)
	flood := bytes.Repeat([]byte("PING\r\n"), 20_000)
	for {
		if err := a.sendRaw(flood); err != nil {
			break
		}
	}
	b.awaitBlocked(0)
}

// Many clients block on one key and as many elements are pushed. Each element is
// delivered once, however pushes, timeouts and disconnects interleave.
func TestBlockingDeliversEachElementOnce(t *testing.T) {
	const clients, rounds = 8, 60
	srv := startBlocking(t)
	counts := make(chan int, clients)
	for i := range clients {
		a := newLineClient(t, srv)
		go func() {
			got := 0
			for {
				line := "BLPOP k stop 0"
				if i%2 == 0 {
					line = "BLMOVE k done LEFT RIGHT 0.002"
				}
				args, _ := scenario.Words(line)
				if a.send(args) != nil {
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
					args, _ = scenario.Words("EXISTS end")
					if a.send(args) != nil {
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
	b := newLineClient(t, srv)
	for i := range rounds {
		b.do(fmt.Sprintf("RPUSH k %d %d %d", i, i, i))
	}
	for b.do("LLEN k") != ":0 " {
		runtime.Gosched()
	}
	b.do("SET end 1")
	for range clients / 2 {
		b.do("RPUSH stop x")
	}
	got := 0
	for range clients {
		got += <-counts
	}
	var moved int
	_, err := fmt.Sscanf(b.do("LLEN done"), ":%d", &moved)
	require.NoError(t, err)
	require.Equal(t, 3*rounds, got+moved)
}

// The directives of blocking.cases, and a reply that is never sent.
func TestBlockingDirectives(t *testing.T) {
	f, err := scenario.Read("== x\n@noreply BLPOP k 0\n@blocked 1\n@conn B\nRPUSH k a\n@conn A\n@reply\n")
	require.NoError(t, err)
	dial, setClock := startForTest(t)
	steps := runSection(f.Sections[0], 2, dial, setClock).Steps
	require.Len(t, steps, 6)
	require.Equal(t, "*2\r\n$1\r\nk\r\n$1\r\na\r\n", string(steps[5].Got))

	for _, line := range []string{"@blocked", "@blocked x"} {
		_, err = scenario.Read("== x\n" + line + "\n")
		require.Error(t, err, line)
	}
}
