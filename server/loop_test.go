package server

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server/pipe"
	"github.com/zlimit/zlimit/server/poll"
)

// startOneLoop runs a server with one loop of each kind.
func startOneLoop(t *testing.T, args ...string) *Server {
	t.Helper()
	args = append([]string{"--bind", "127.0.0.1", "--io-loops", "1"}, args...)
	return startServer(t, Options{Config: newConfig(t, args...), FreePort: true})
}

// kinds runs a test with connections of each transport.
func kinds(t *testing.T, s *Server, do func(t *testing.T, dial func() net.Conn)) {
	admitted := func(outside, inside net.Conn) net.Conn {
		s.admit(inside)
		t.Cleanup(func() { outside.Close() })
		require.NoError(t, outside.SetDeadline(time.Now().Add(testTimeout)))
		return outside
	}
	t.Run("socket", func(t *testing.T) { do(t, func() net.Conn { return dial(t, s) }) })
	t.Run("memory", func(t *testing.T) {
		do(t, func() net.Conn {
			a, b := pipe.New()
			return admitted(a, b)
		})
	})
	t.Run("fed", func(t *testing.T) {
		do(t, func() net.Conn {
			a, b := net.Pipe()
			return admitted(a, b)
		})
	})
}

// TestLoopGoesOn: while one connection's command runs, its loop serves the others, and is whole afterwards.
func TestLoopGoesOn(t *testing.T) {
	t.Parallel()
	s := startOneLoop(t, "--busy-reply-threshold", "1")
	kinds(t, s, func(t *testing.T, dial func() net.Conn) {
		late, other := dial(), dial()
		exchange(t, other, "PING", "+PONG\r\n")
		for range 10 {
			exchange(t, late, `EVAL "while true do end" 0`, "")
			for reply := ""; reply != "+OK\r\n"; { // nothing runs yet
				_, err := io.WriteString(other, "SCRIPT KILL\r\n")
				require.NoError(t, err)
				reply = readLine(t, other)
			}
			require.Contains(t, readLine(t, late), "-ERR Script killed by user")
			exchange(t, late, "PING", "+PONG\r\n")
		}
	})
}

// readLine reads a reply of one line.
func readLine(t *testing.T, nc net.Conn) string {
	t.Helper()
	var line []byte
	for !strings.HasSuffix(string(line), "\n") {
		var b [1]byte
		_, err := nc.Read(b[:])
		require.NoError(t, err)
		line = append(line, b[0])
	}
	return string(line)
}

// TestLoopsShare: connections are spread over the loops, and a loop that has lost its own gets the next ones.
func TestLoopsShare(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{
		Config: newConfig(t, "--bind", "127.0.0.1", "--io-loops", "3"), FreePort: true,
	})
	clients := func() string {
		var n []int64
		for _, l := range s.loops.all() {
			n = append(n, l.clients.Load())
		}
		return fmt.Sprint(n)
	}
	var all []net.Conn
	for range 9 {
		c := dial(t, s)
		exchange(t, c, "PING", "+PONG\r\n")
		all = append(all, c)
	}
	require.Equal(t, "[3 3 3]", clients())
	for i := range 3 { // those of the first loop
		require.NoError(t, all[3*i].Close())
	}
	awaitSessions(t, s, 6)
	for end := time.Now().Add(testTimeout); clients() != "[0 3 3]"; {
		require.True(t, time.Now().Before(end), clients())
	}
	for range 3 {
		exchange(t, dial(t, s), "PING", "+PONG\r\n")
	}
	require.Equal(t, "[3 3 3]", clients())
}

// TestRoundIsBounded: of a pipeline of long commands one runs in a round, and others see what it has done
// so far.
func TestRoundIsBounded(t *testing.T) {
	t.Parallel()
	s := startOneLoop(t)
	kinds(t, s, func(t *testing.T, dial func() net.Conn) {
		busy, other := dial(), dial()
		const commands, elements = 40, 3000
		push := "RPUSH l" + strings.Repeat(" x", elements) + "\r\n"
		for seen := false; !seen; {
			exchange(t, other, "DEL l", fmt.Sprintf(":%d\r\n", min(1, count(t, other))))
			go io.WriteString(busy, strings.Repeat(push, commands))
			for n := 0; n < commands*elements; n = count(t, other) {
				seen = seen || n > 0
			}
			for range commands {
				readLine(t, busy)
			}
		}
	})
}

// count returns the length of l.
func count(t *testing.T, nc net.Conn) (n int) {
	t.Helper()
	_, err := io.WriteString(nc, "LLEN l\r\n")
	require.NoError(t, err)
	_, err = fmt.Sscanf(readLine(t, nc), ":%d", &n)
	require.NoError(t, err)
	return n
}

// TestMuchInput: a long pipeline is answered as a whole, whatever a round takes of it.
func TestMuchInput(t *testing.T) {
	t.Parallel()
	s := startOneLoop(t)
	kinds(t, s, func(t *testing.T, dial func() net.Conn) {
		c := dial()
		const commands = 50_000
		go io.WriteString(c, strings.Repeat("PING\r\n", commands)+"QUIT\r\n")
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("+PONG\r\n", commands)+"+OK\r\n", string(got))
	})
}

// TestWatchdogWakes: a watchdog that sleeps notices a connection that begins to run, also if its loop has not
// waited in between.
func TestWatchdogWakes(t *testing.T) {
	t.Parallel()
	s := New(Options{Config: newConfig(t)})
	defer s.Close()
	l := newLoop(s, poll.NewMemory())
	s.loops.others = []*loop{l}
	s.loops.mu.Lock()
	s.loops.watch.start(&s.loops)
	s.loops.mu.Unlock()
	for end := time.Now().Add(testTimeout); !s.loops.watch.asleep.Load(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), "it never sleeps")
	}
	ticket := l.lease.begin(&conn{server: s, loop: l}) // the test holds the loop
	for end := time.Now().Add(testTimeout); l.lease.turn.Load() == ticket; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "nobody takes the loop")
	}
	require.False(t, l.lease.end(ticket))
}

// TestNoLoop: if the system refuses a poller, the connection is refused, and the next one tries again.
func TestNoLoop(t *testing.T) {
	t.Parallel()
	s := New(Options{Config: newConfig(t, "--io-loops", "2")})
	defer s.Close()
	var kind []*loop
	made := 0
	refuse := func() (poll.Poller, error) {
		made++
		if made != 2 {
			return nil, syscall.EMFILE
		}
		return poll.NewMemory(), nil
	}
	s.loops.mu.Lock()
	defer s.loops.mu.Unlock()
	require.Nil(t, s.loops.least(&kind, refuse))
	l := s.loops.least(&kind, refuse)
	require.NotNil(t, l)
	require.Same(t, l, s.loops.least(&kind, refuse))
	require.Len(t, kind, 1)
	s.loops.others = kind // to be closed
}

// TestGoesOn: a connection that ends has nothing to do until its client or a timer wakes it, whatever it has
// not read or run.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		phase                phase
		nothing, unread, ran bool // what it does if nothing is left, something is unread, and has not run
	}{
		{arriving, false, false, false},
		{open, false, true, true},
		{ending, false, false, false},
		{silent, false, true, false},
		{gone, false, false, false},
	} {
		c := &conn{phase: tc.phase}
		require.Equal(t, tc.nothing, c.goesOn(), tc.phase)
		c.seat.unread = true
		require.Equal(t, tc.unread, c.goesOn(), tc.phase)
		c.seat.unread, c.progress.unfinished = false, true
		require.Equal(t, tc.ran, c.goesOn(), tc.phase)
	}
}
