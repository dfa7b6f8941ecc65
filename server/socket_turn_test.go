package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// A gatedServer is a server that can hold up its clients: when one sends GATE,
// reached receives, and the client continues once open is closed.
type gatedServer struct {
	*Server
	reached chan struct{}
	open    chan struct{}
}

func startGated(t *testing.T) gatedServer {
	t.Helper()
	g := gatedServer{reached: make(chan struct{}), open: make(chan struct{})}
	g.Server = startServer(t, Options{
		Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true,
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

// dial opens a connection with a deadline.
func dial(t *testing.T, s *Server) *net.TCPConn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	return nc.(*net.TCPConn)
}

// openGate opens the gate after the server's poller has seen earlier events.
func (g gatedServer) openGate(t *testing.T) {
	t.Helper()
	other := dial(t, g.Server)
	for range 20 {
		exchange(t, other, "PING", "+PONG\r\n")
	}
	require.NoError(t, other.Close())
	close(g.open)
}

// exchange sends a line and requires a reply.
func exchange(t *testing.T, nc net.Conn, line, want string) {
	t.Helper()
	_, err := io.WriteString(nc, line+"\r\n")
	require.NoError(t, err)
	got := make([]byte, len(want))
	_, err = io.ReadFull(nc, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

// awaitSessions waits until the server has at most n clients.
func awaitSessions(t *testing.T, s *Server, n int) {
	t.Helper()
	for end := time.Now().Add(testTimeout); s.engine.Sessions() > n; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "sessions of closed connections stay")
	}
}

// TestInputTogetherWithClose: input that arrives together with a close or reset of
// the connection is answered, and the server notices the close, although no later
// event announces it.
func TestInputTogetherWithClose(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, first, last, want string }{
		{"answered", "GATE", "PING", "+PONG\r\n"},
		{"not answered", "CLIENT REPLY OFF\r\nGATE", "PING", ""},
		{"half a command", "GATE", "*1\r\n$4", ""},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, ", reset ", reset), func(t *testing.T) {
				t.Parallel()
				g := startGated(t)
				nc := dial(t, g.Server)
				exchange(t, nc, "PING", "+PONG\r\n")
				exchange(t, nc, tc.first, "")
				<-g.reached
				exchange(t, nc, tc.last, "")
				if reset {
					require.NoError(t, nc.SetLinger(0))
					require.NoError(t, nc.Close())
				} else {
					require.NoError(t, nc.CloseWrite())
				}
				g.openGate(t)
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

// TestClientKillDuringCommand: CLIENT KILL does not wait for the victim's current
// command, and later commands of the victim do not run.
func TestClientKillDuringCommand(t *testing.T) {
	t.Parallel()
	g := startGated(t)
	victim, other := dial(t, g.Server), dial(t, g.Server)
	exchange(t, victim, "CLIENT SETNAME victim", "+OK\r\n")
	exchange(t, victim, "GATE", "")
	<-g.reached
	exchange(t, victim, "SET late 1", "")
	address := victim.LocalAddr().String()
	exchange(t, other, "MULTI\r\nCLIENT KILL ADDR "+address+"\r\nEXEC", "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n")
	close(g.open)
	awaitSessions(t, g.Server, 1)
	exchange(t, other, "EXISTS late", ":0\r\n")
	_, err := io.ReadAll(victim)
	if err != nil { // unread input makes the close a reset
		require.ErrorContains(t, err, "reset")
	}
}

// TestCloseWithinDuringCommand: once ctx is done, commands that have arrived do not
// run.
func TestCloseWithinDuringCommand(t *testing.T) {
	t.Parallel()
	g := startGated(t)
	nc := dial(t, g.Server)
	exchange(t, nc, "GATE", "")
	<-g.reached
	exchange(t, nc, "SET late 1", "")
	impatient, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, g.CloseWithin(impatient), context.Canceled)
	close(g.open)
	require.NoError(t, g.Close())
	require.Equal(t, int64(0), g.engine.NewSession(engine.Peer{}).Do([][]byte{[]byte("DBSIZE")}).Int())
}
