package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// A gate is a server whose clients can be held up: where one says GATE it is told
// apart, and goes on when the gate is opened.
type gate struct {
	*Server
	reached chan struct{}
	open    chan struct{}
}

func gated(t *testing.T) gate {
	t.Helper()
	g := gate{reached: make(chan struct{}), open: make(chan struct{})}
	g.Server = running(t, Options{
		Config: configured(t, "--bind", "127.0.0.1"), FreePort: true,
		Intercept: func(args [][]byte, _ <-chan struct{}) Interception {
			if string(args[0]) != "GATE" {
				return Interception{}
			}
			g.reached <- struct{}{}
			<-g.open
			return Interception{Skip: true}
		},
	})
	return g
}

// dialled is a connection on which no answer is waited for for ever.
func dialled(t *testing.T, s *Server) *net.TCPConn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	return nc.(*net.TCPConn)
}

// unlock opens the gate after the server's poller has seen what came before.
func (g gate) unlock(t *testing.T) {
	t.Helper()
	other := dialled(t, g.Server)
	for range 20 {
		asks(t, other, "PING", "+PONG\r\n")
	}
	require.NoError(t, other.Close())
	close(g.open)
}

// asks sends a line and reads an answer of so many bytes.
func asks(t *testing.T, nc net.Conn, line, want string) {
	t.Helper()
	_, err := io.WriteString(nc, line+"\r\n")
	require.NoError(t, err)
	got := make([]byte, len(want))
	_, err = io.ReadFull(nc, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

// awaitSessions waits for the server to have no more than so many clients.
func awaitSessions(t *testing.T, s *Server, n int) {
	t.Helper()
	for end := time.Now().Add(testTimeout); s.engine.Sessions() > n; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "clients that are gone are still there")
	}
}

// TestLastWordsWithTheEnd: what came together with the end of the connection is
// answered, and the end, be it a reset, is seen, though nothing follows that
// would tell of it.
func TestLastWordsWithTheEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, first, last, want string }{
		{"answered", "GATE", "PING", "+PONG\r\n"},
		{"not answered", "CLIENT REPLY OFF\r\nGATE", "PING", ""},
		{"half a command", "GATE", "*1\r\n$4", ""},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, ", reset ", reset), func(t *testing.T) {
				t.Parallel()
				g := gated(t)
				nc := dialled(t, g.Server)
				asks(t, nc, "PING", "+PONG\r\n")
				asks(t, nc, tc.first, "")
				<-g.reached
				asks(t, nc, tc.last, "")
				if reset {
					require.NoError(t, nc.SetLinger(0))
					require.NoError(t, nc.Close())
				} else {
					require.NoError(t, nc.CloseWrite())
				}
				g.unlock(t)
				if !reset {
					got, err := io.ReadAll(nc)
					require.NoError(t, err)
					require.Equal(t, tc.want, string(got))
				}
				awaitSessions(t, g.Server, 0)
			})
		}
	}
}

// TestKilledInTheMiddle: CLIENT KILL does not wait for a command of the killed
// one to end; what it has sent after that command does not run.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	g := gated(t)
	victim, other := dialled(t, g.Server), dialled(t, g.Server)
	asks(t, victim, "CLIENT SETNAME victim", "+OK\r\n")
	asks(t, victim, "GATE", "")
	<-g.reached
	asks(t, victim, "SET late 1", "")
	address := victim.LocalAddr().String()
	asks(t, other, "MULTI\r\nCLIENT KILL ADDR "+address+"\r\nEXEC", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n")
	close(g.open)
	awaitSessions(t, g.Server, 1)
	asks(t, other, "EXISTS late", ":0\r\n")
	_, err := io.ReadAll(victim)
	if err != nil { // what was unread makes the end a reset
		require.ErrorContains(t, err, "reset")
	}
}

// TestCutInTheMiddle: an end that no longer waits leaves what has arrived.
func TestCutInTheMiddle(t *testing.T) {
	t.Parallel()
	g := gated(t)
	nc := dialled(t, g.Server)
	asks(t, nc, "GATE", "")
	<-g.reached
	asks(t, nc, "SET late 1", "")
	impatient, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, g.CloseWithin(impatient), context.Canceled)
	close(g.open)
	require.NoError(t, g.Close())
	require.Equal(t, int64(0), g.engine.NewSession(engine.Peer{}).Do([][]byte{[]byte("DBSIZE")}).Int())
}

// TestKillsItself has its answer first, as in Redis.
func TestKillsItself(t *testing.T) {
	t.Parallel()
	g := gated(t)
	nc := dialled(t, g.Server)
	asks(t, nc, "PING", "+PONG\r\n")
	asks(t, nc, fmt.Sprintf("CLIENT KILL ADDR %s SKIPME no", nc.LocalAddr()), ":1\r\n")
	rest, err := io.ReadAll(nc)
	require.NoError(t, err)
	require.Empty(t, strings.TrimSpace(string(rest)))
	awaitSessions(t, g.Server, 0)
}
