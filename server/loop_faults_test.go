package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/server/pipe"
	"github.com/zlimit/zlimit/testca"
)

// startTwoLoops runs a server with two loops of each kind.
func startTwoLoops(t *testing.T, args ...string) *Server {
	t.Helper()
	args = append([]string{"--bind", "127.0.0.1", "--io-loops", "2"}, args...)
	return startServer(t, Options{Config: newConfig(t, args...), FreePort: true, NoCron: true})
}

// await waits until ok returns true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); !ok(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), what)
	}
}

// tlsConfigsOf returns the configurations of a server and of its clients.
func tlsConfigsOf(t *testing.T) (inside, outside *tls.Config) {
	t.Helper()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	pair, err := ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	certificate, err := pair.TLS()
	require.NoError(t, err)
	return &tls.Config{Certificates: []tls.Certificate{certificate}},
		&tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
}

// allKinds is kinds, and also has Unix sockets, if the server listens on one, and TLS.
func allKinds(t *testing.T, s *Server, do func(t *testing.T, dial func() net.Conn)) {
	kinds(t, s, do)
	if path := s.cfg.String("unixsocket"); path != "" {
		t.Run("unix", func(t *testing.T) {
			do(t, func() net.Conn { return dialAt(t, "unix", path) })
		})
	}
	t.Run("TLS", func(t *testing.T) {
		inside, outside := tlsConfigsOf(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var config atomic.Pointer[tls.Config]
		config.Store(inside)
		require.NoError(t, s.Add(&tlsListener{l, &config}))
		do(t, func() net.Conn { return tls.Client(dialAt(t, "tcp", l.Addr().String()), outside) })
	})
}

// dialAt opens a connection with a deadline.
func dialAt(t *testing.T, network, address string) net.Conn {
	t.Helper()
	nc, err := net.Dial(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(testTimeout)))
	return nc
}

// waiting returns how many connections have output that waits for their clients.
func waiting(s *Server) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.out.waits.Load() {
			n++
		}
	}
	return n
}

// awaitConnections waits until the server has n connections, and its loops count as many.
func awaitConnections(t *testing.T, s *Server, n int) {
	t.Helper()
	await(t, fmt.Sprint("never ", n, " connections"), func() bool {
		counted := 0
		for _, l := range s.loops.all() {
			counted += int(l.clients.Load())
		}
		return s.Connections() == n && counted == n
	})
}

// clientID returns what CLIENT KILL ID takes.
func clientID(t *testing.T, nc net.Conn) string {
	t.Helper()
	exchange(t, nc, "CLIENT ID", "")
	return strings.Trim(readLine(t, nc), ":\r\n")
}

// TestAbortIsNoticed: the loop of a connection that another one aborts lets go of it, though its client
// neither sends nor hangs up.
func TestAbortIsNoticed(t *testing.T) {
	t.Parallel()
	s := startTwoLoops(t)
	kinds(t, s, func(t *testing.T, dial func() net.Conn) {
		killer, idle, slow := dial(), dial(), dial()
		exchange(t, killer, "PING", "+PONG\r\n")
		exchange(t, slow, "PING", "+PONG\r\n")
		id := clientID(t, idle)
		for _, l := range s.loops.all() {
			<-l.turn() // what its client has read is no news any more
		}
		exchange(t, killer, "CLIENT KILL ID "+id, ":1\r\n")
		awaitConnections(t, s, 2)
		exchange(t, slow, "SETRANGE k 1048575 v", ":1048576\r\n")
		exchange(t, slow, strings.Repeat("GET k\r\n", 30), "$1048576\r\n")
		for list := ""; !strings.Contains(list, "cmdstat_get:calls=30,"); list = readBulk(t, killer) {
			exchange(t, killer, "INFO commandstats", "")
		}
		exchange(t, killer, "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0\"", "+OK\r\n")
		awaitConnections(t, s, 1)
		exchange(t, killer, "CONFIG SET client-output-buffer-limit \"normal 0 0 0\"", "+OK\r\n")
		exchange(t, killer, "CONFIG RESETSTAT", "+OK\r\n")
		require.NoError(t, killer.Close())
		awaitConnections(t, s, 0)
	})
}

// readBulk reads a reply that is a bulk.
func readBulk(t *testing.T, nc net.Conn) string {
	t.Helper()
	var n int
	_, err := fmt.Sscanf(readLine(t, nc), "$%d", &n)
	require.NoError(t, err)
	bulk := make([]byte, n+2)
	_, err = io.ReadFull(nc, bulk)
	require.NoError(t, err)
	return string(bulk[:n])
}

// arrive admits a connection that its loop does not know yet.
func arrive(t *testing.T, s *Server, nc net.Conn) *conn {
	t.Helper()
	remote, local := nc.RemoteAddr(), nc.LocalAddr()
	c, err := newConn(s, nc)
	require.NoError(t, err)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	c.begin(remote, local)
	return c
}

// TestAbortBeforeTheLoop: a connection that is aborted before its loop has taken it in ends there.
func TestAbortBeforeTheLoop(t *testing.T) {
	t.Parallel()
	s := startOneLoop(t)
	for name, open := range map[string]func() (outside, inside net.Conn){
		"memory": func() (net.Conn, net.Conn) { return pipe.New() },
		"fed":    net.Pipe,
	} {
		t.Run(name, func(t *testing.T) {
			outside, inside := open()
			defer outside.Close()
			c := arrive(t, s, inside)
			c.abort()
			c.add()
			awaitConnections(t, s, 0)
		})
	}
}

// TestShorterTimeout: a client that was idle under a long timeout is so under a short one.
func TestShorterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Config: newConfig(t, "--timeout", "100000")})
		defer s.Close()
		client, inside := pipe.New()
		s.admit(inside)
		exchange(t, client, "PING", "+PONG\r\n")
		began := time.Now()
		_, err := s.Do(t.Context(), "CONFIG", "SET", "timeout", "7")
		require.NoError(t, err)
		_, err = io.ReadAll(client)
		require.NoError(t, err)
		require.Equal(t, 7*time.Second, time.Since(began))
	})
}

// TestKilledByAnotherLoop: CLIENT KILL ends a connection of another loop whatever it does, and what it has
// sent behind that does not run.
func TestKilledByAnotherLoop(t *testing.T) {
	t.Parallel()
	s := startTwoLoops(t, "--enable-debug-command", "yes")
	ask := func(words ...any) string {
		reply, err := s.Do(t.Context(), words...)
		require.NoError(t, err)
		return fmt.Sprint(reply)
	}
	ask("SETRANGE", "big", 1<<20-1, "v")
	for name, does := range map[string]struct {
		send  string
		began func() bool // asked again and again
		after func()
	}{
		"a command runs": {
			"INCR n\r\nSET late 1",
			func() bool { return strings.Contains(ask("DEBUG", "FAULT", "LIST"), "hits 1 ") },
			func() { ask("DEBUG", "FAULT", "CLEAR") },
		},
		"it is blocked": {
			"BLPOP none 0\r\nSET late 1",
			func() bool { return strings.Contains(ask("INFO", "clients"), "blocked_clients:1\r\n") },
			func() {},
		},
		"its reply waits": {
			strings.Repeat("GET big\r\n", 30) + "SET done 1",
			func() bool { return waiting(s) == 1 && ask("EXISTS", "done") == "1" },
			func() { ask("DEL", "done") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			kinds(t, s, func(t *testing.T, dial func() net.Conn) {
				if strings.HasPrefix(does.send, "INCR") {
					ask("DEBUG", "FAULT", "INJECT", "DELAY", "UNTIL", "REMOVED", "ON", "INCR")
				}
				victim, killer := dial(), dial()
				exchange(t, killer, "PING", "+PONG\r\n")
				id := clientID(t, victim)
				exchange(t, victim, does.send, "")
				await(t, "it does not begin", does.began)
				exchange(t, killer, "CLIENT KILL ID "+id, ":1\r\n")
				does.after()
				awaitConnections(t, s, 1)
				exchange(t, killer, "EXISTS late", ":0\r\n")
				require.NoError(t, killer.Close())
				awaitConnections(t, s, 0)
			})
		})
	}
}

// TestPanicInALoop: a command that panics ends its connection alone, whether it still holds the loop or has
// been robbed of it.
func TestPanicInALoop(t *testing.T) {
	t.Parallel()
	s := startOneLoop(t)
	gate := make(chan struct{})
	began := make(chan struct{})
	s.engine.Table().Lookup([]byte("LASTSAVE")).Handler = func(*commands.Ctx) resp.Value { panic("planted") }
	s.engine.Table().Lookup([]byte("ROLE")).Handler = func(*commands.Ctx) resp.Value {
		began <- struct{}{}
		<-gate
		panic("planted")
	}
	kinds(t, s, func(t *testing.T, dial func() net.Conn) {
		other := dial()
		exchange(t, other, "PING", "+PONG\r\n")
		for range 3 {
			for _, command := range []string{"LASTSAVE", "ROLE"} {
				c := dial()
				exchange(t, c, "SET a 1\r\n"+command+"\r\nSET a 2", "")
				if command == "ROLE" {
					<-began
					exchange(t, other, "PING", "+PONG\r\n") // so the loop was robbed
					gate <- struct{}{}
				}
				require.Equal(t, "+OK\r\n", readLine(t, c))
				_, err := c.Read(make([]byte, 1))
				require.ErrorIs(t, err, io.EOF)
				require.NoError(t, c.Close())
				awaitConnections(t, s, 1)
				exchange(t, other, "GET a", "$1\r\n1\r\n")
			}
		}
		require.NoError(t, other.Close())
		awaitConnections(t, s, 0)
	})
}

// A fullListener cannot accept while it is full.
type fullListener struct {
	net.Listener
	full  atomic.Bool
	calls atomic.Int64
}

func (l *fullListener) Accept() (net.Conn, error) {
	l.calls.Add(1)
	if l.full.Load() {
		return nil, os.NewSyscallError("accept4", syscall.EMFILE)
	}
	return l.Listener.Accept()
}

// TestAcceptDoesNotSpin: without descriptors the server tries again, ever more rarely, and serves as soon as
// there is one.
func TestAcceptDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{NoCron: true})
		defer s.Close()
		clients := pipe.Listen()
		l := &fullListener{Listener: clients}
		l.full.Store(true)
		require.NoError(t, s.Add(l))
		go s.Serve()
		<-time.After(time.Minute)
		require.InDelta(t, 60, l.calls.Load(), 10, "once a second")
		l.full.Store(false)
		client, err := clients.Dial(t.Context())
		require.NoError(t, err)
		defer client.Close()
		began := time.Now()
		exchange(t, client, "PING", "+PONG\r\n")
		require.LessOrEqual(t, time.Since(began), time.Second)
	})
}
