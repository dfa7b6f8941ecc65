package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoppedClients: clients that do not read delay nobody, and later read every byte in order, however
// little the system accepts at once.
func TestStoppedClients(t *testing.T) {
	t.Parallel()
	s := startTwoLoops(t, "--unixsocket", socketPath(t))
	const size, replies = 64 << 10, 300
	pattern := make([]byte, size)
	for i := range pattern {
		pattern[i] = byte('a' + i*i%23)
	}
	_, err := s.Do(t.Context(), "SET", "k", pattern)
	require.NoError(t, err)
	var in, want bytes.Buffer
	for i := range replies {
		first := i * 7919 % (size / 2)
		value := pattern[first:]
		fmt.Fprintf(&in, "ECHO %d\r\nGETRANGE k %d -1\r\n", 1000+i, first)
		fmt.Fprintf(&want, "$4\r\n%d\r\n$%d\r\n%s\r\n", 1000+i, len(value), value)
	}
	allKinds(t, s, func(t *testing.T, dial func() net.Conn) {
		var stopped [2]net.Conn // one on each loop
		for i := range stopped {
			stopped[i] = dial()
			exchange(t, stopped[i], "PING", "+PONG\r\n")
		}
		for _, c := range stopped {
			_, err := c.Write(in.Bytes())
			require.NoError(t, err)
		}
		await(t, "everything is sent", func() bool { return waiting(s) == len(stopped) })
		for range stopped {
			exchange(t, dial(), "PING", "+PONG\r\n")
		}
		var readers sync.WaitGroup
		for _, c := range stopped {
			readers.Go(func() {
				got := make([]byte, want.Len())
				for n := 0; n < len(got); {
					piece := min(len(got)-n, 1+n%5000)
					read, err := io.ReadFull(c, got[n:n+piece])
					require.NoError(t, err, "after %d bytes", n+read)
					n += read
				}
				require.True(t, bytes.Equal(want.Bytes(), got))
				exchange(t, c, "PING", "+PONG\r\n")
			})
		}
		readers.Wait()
	})
}

// TestManySlowSenders: five hundred clients send a byte each in turn.
func TestManySlowSenders(t *testing.T) {
	t.Parallel()
	s := startTwoLoops(t)
	const clients = 500
	var all [clients]net.Conn
	for i := range all {
		all[i] = dial(t, s)
	}
	const in = "*2\r\n$4\r\nECHO\r\n$3\r\n%03d\r\nPING\r\n"
	for b := range len(fmt.Sprintf(in, 0)) {
		for i, c := range all {
			_, err := c.Write([]byte{fmt.Sprintf(in, i)[b]})
			require.NoError(t, err)
		}
	}
	for i, c := range all {
		exchange(t, c, "", fmt.Sprintf("$3\r\n%03d\r\n+PONG\r\n", i))
	}
}

// countDescriptors returns how many descriptors the process has.
func countDescriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("this system does not list a process' descriptors: %v", err)
	}
	return len(files)
}

// TestFlood connects 10,000 times and hangs up in every way. Nothing is left, and nothing goes round. It
// does not run in parallel, because it counts descriptors.
func TestFlood(t *testing.T) {
	s := startTwoLoops(t)
	before := countDescriptors(t)
	_, err := s.Do(t.Context(), "SET", "big", strings.Repeat("v", 1<<20))
	require.NoError(t, err)
	const floods, each = 20, 500
	var done sync.WaitGroup
	for range floods {
		done.Go(func() {
			for i := range each {
				nc, err := net.Dial("tcp", s.Addr().String())
				require.NoError(t, err)
				c := nc.(*net.TCPConn)
				switch i % 10 {
				case 0: // hangs up in the middle of a command
					_, _ = io.WriteString(c, "*2\r\n$4\r\nECHO\r\n$10\r\nabc")
				case 1: // resets while replies wait
					_, _ = io.WriteString(c, strings.Repeat("GET big\r\n", 20))
					_, err := c.Read(make([]byte, 100))
					require.NoError(t, err)
					require.NoError(t, c.SetLinger(0))
				case 2:
					require.NoError(t, c.SetLinger(0))
				}
				require.NoError(t, c.Close())
			}
		})
	}
	done.Wait()
	awaitConnections(t, s, 0)
	await(t, "descriptors leak", func() bool { return countDescriptors(t) <= before+descriptorsOf(s) })
	const pings = 100
	nc := dial(t, s)
	exchange(t, nc, "PING", "+PONG\r\n")
	steps := func() (n int64) {
		for _, l := range s.loops.all() {
			n += l.lease.turn.Load()
		}
		return n / 2 // a step takes and gives the lease
	}
	from := steps()
	for range pings {
		exchange(t, nc, "PING", "+PONG\r\n")
	}
	require.LessOrEqual(t, steps()-from, int64(5*pings), "connections that are gone still run")
}

// descriptorsOf returns how many descriptors the loops of a server have.
func descriptorsOf(s *Server) int { return loopDescriptors * len(s.loops.all()) }

// TestProcessorsChange serves while the number of processors changes, with more loops than that. It does not
// run in parallel, because the number is the process's.
func TestProcessorsChange(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := startServer(t, Options{
		Config: newConfig(t, "--bind", "127.0.0.1", "--io-loops", "4"), FreePort: true, NoCron: true,
	})
	const clients, rounds = 16, 50
	var served atomic.Int64
	var done sync.WaitGroup
	stop := make(chan struct{})
	for range clients {
		c := dial(t, s)
		done.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				exchange(t, c, strings.Repeat("PING\r\n", n%20), strings.Repeat("+PONG\r\n", n%20))
				served.Add(1)
			}
		})
	}
	for i := range rounds {
		runtime.GOMAXPROCS([]int{1, 4, 2, 8}[i%4])
		from := served.Load()
		await(t, "nobody is served", func() bool { return served.Load() >= from+clients })
	}
	close(stop)
	done.Wait()
}
