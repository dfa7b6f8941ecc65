package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/server"
)

// waitsSoak has clients that wait for the same few keys and end their waits in every way.
type waitsSoak struct {
	t       *testing.T
	dial    func() net.Conn
	granted atomic.Int64 // units of k in replies to calls that waited
	unread  atomic.Int64 // such calls whose reply nobody read
	back    atomic.Int64 // units of k that were given back
}

// soakLimit is how much room the keys have.
const soakLimit = 4

// A soakClient has a connection that waits, and one that gives back and ends waits.
type soakClient struct {
	*waitsSoak
	name  string
	r     *rand.Rand
	w     *wire
	other *wire
}

// ask sends a line over a connection and returns the reply.
func ask(w *wire, line string) (string, error) {
	if err := w.sendRaw([]byte(line + "\r\n")); err != nil {
		return "", err
	}
	reply, err := w.readReply()
	return strings.TrimSpace(string(reply)), err
}

// waiting returns a call that waits, and what gives back what it takes.
func (c *soakClient) waiting() (line string, back []string) {
	release, wait := "RL.RELEASE s "+c.name, fmt.Sprint(" WAIT ", []string{"1h", "3", "1"}[c.r.IntN(3)])
	switch c.r.IntN(3) {
	case 0:
		return fmt.Sprint("RL.ALLOW k ", soakLimit, " 1h", wait), []string{"RL.REFUND k 1"}
	case 1:
		return fmt.Sprint("RL.ACQUIRE s ", soakLimit, " LEASE 1h ID ", c.name, wait), []string{release}
	}
	return fmt.Sprintf("RL.MALLOW 3 s j k TERM SLOTS %d LEASE 1h TERM %[1]d 1h ALGO FIXED TERM %[1]d 1h "+
		"ID %s%s", soakLimit, c.name, wait), []string{release, "RL.REFUND j 1", "RL.REFUND k 1"}
}

// round waits once. It returns an error if a reply is missing or wrong.
func (c *soakClient) round() error {
	line, back := c.waiting()
	id, err := ask(c.w, "CLIENT ID")
	if err != nil {
		return err
	}
	id = id[1:]
	call, takesK := []byte(line+"\r\n"), back[len(back)-1] == "RL.REFUND k 1"
	end := c.r.IntN(8)
	switch end {
	case 0: // it hangs up halfway
		call = call[:c.r.IntN(len(call)-1)]
	case 1: // it hangs up with more in its pipeline
		call = append(call, "PING\r\nRL.ALLOW k 1 1h WAIT 1s\r\n"...)
	}
	if err := c.w.sendRaw(call); err != nil {
		return err
	}
	switch end {
	case 0, 1, 2:
		if takesK && end > 0 {
			c.unread.Add(1)
		}
		if end == 1 {
			c.unread.Add(1)
		}
		if tcp, ok := c.w.conn.(*net.TCPConn); ok && c.r.IntN(2) == 0 {
			_ = tcp.SetLinger(0)
		}
		_ = c.w.conn.Close()
		c.w = newWire(c.dial())
		return nil
	case 3:
		if _, err := ask(c.other, "CLIENT KILL ID "+id); err != nil {
			return err
		}
	case 4:
		if _, err := ask(c.other, "CLIENT UNBLOCK "+id); err != nil {
			return err
		}
	case 5:
		if _, err := ask(c.other, "CLIENT UNBLOCK "+id+" ERROR"); err != nil {
			return err
		}
	}
	reply, err := c.w.readReply()
	switch {
	case err != nil && end == 3 && !isTimeout(err):
		if takesK {
			c.unread.Add(1)
		}
		_ = c.w.conn.Close()
		c.w = newWire(c.dial())
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", line, err)
	case end == 3: // it was answered before it was killed
		if _, err := io.ReadAll(c.w.r); isTimeout(err) {
			return errors.New("CLIENT KILL does not close the connection")
		}
		_ = c.w.conn.Close()
		c.w = newWire(c.dial())
	case strings.HasPrefix(string(reply), "-UNBLOCKED") && end == 5:
		return nil
	}
	words := strings.Fields(strings.ReplaceAll(string(reply), ":", " "))
	at := 1
	if strings.HasPrefix(line, "RL.MALLOW") {
		at = 2
	}
	if len(words) < 6 || words[at] != "0" && words[at] != "1" {
		return fmt.Errorf("%s: %q", line, reply)
	}
	if words[at] == "0" {
		return nil
	}
	if takesK {
		c.granted.Add(1)
	}
	for _, line := range back {
		if err := c.giveBack(c.other, line); err != nil {
			return err
		}
	}
	return nil
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// giveBack runs a line that gives back.
func (s *waitsSoak) giveBack(w *wire, line string) error {
	reply, err := ask(w, line)
	if err == nil && strings.HasPrefix(line, "RL.REFUND k") {
		var n int64
		n, err = strconv.ParseInt(strings.TrimPrefix(reply, ":"), 10, 64)
		s.back.Add(n)
	}
	return err
}

// check reads how many units of each key are used: never more than there is room for.
func (s *waitsSoak) check(w *wire) (ofK int64) {
	for _, key := range []string{"s", "j", "k"} {
		line := fmt.Sprint("RL.ALLOW ", key, " 1000 1h PEEK")
		switch key {
		case "j":
			line += " ALGO FIXED"
		case "s":
			line = "RL.ACQUIRE s 0 LEASE 1h ID none"
		}
		reply, err := ask(w, line)
		require.NoError(s.t, err)
		words := strings.Fields(strings.ReplaceAll(reply, ":", " "))
		used, err := strconv.ParseInt(words[map[string]int{"s": 2, "j": 3, "k": 3}[key]], 10, 64)
		require.NoError(s.t, err)
		if key != "s" {
			used = 1000 - used
		}
		require.LessOrEqual(s.t, used, int64(soakLimit), "%s is over-admitted", key)
		ofK = used
	}
	return ofK
}

// run lets so many clients wait.
func (s *waitsSoak) run(seed uint64, clients, rounds int) {
	t := s.t
	watcher := newWire(s.dial())
	defer watcher.conn.Close()
	var all sync.WaitGroup
	var ended atomic.Int64
	failed := make(chan error, clients)
	for i := range clients {
		c := &soakClient{
			s, fmt.Sprint("c", i), rand.New(rand.NewPCG(seed, uint64(i))), newWire(s.dial()),
			newWire(s.dial()),
		}
		all.Go(func() {
			defer ended.Add(1)
			for range rounds {
				if err := c.round(); err != nil {
					failed <- err
					break
				}
			}
			_ = c.w.conn.Close()
			_ = c.other.conn.Close()
		})
	}
	// Clients that hung up keep what they were granted: something else makes room.
	for i := 0; ended.Load() < int64(clients); i++ {
		s.check(watcher)
		for _, line := range []string{"RL.REFUND k 1", "RL.REFUND j 1"} {
			require.NoError(t, s.giveBack(watcher, line))
		}
		if i%8 == 0 {
			require.NoError(t, s.giveBack(watcher, "RL.RESET s"))
		}
	}
	all.Wait()
	close(failed)
	require.NoError(t, <-failed)
	eventually(t, func() bool { return infoField(t, watcher, "connected_clients") == "1" }, func() {},
		"sessions leak")
	eventually(t, func() bool { return infoField(t, watcher, "rl_waiting_calls") == "0" }, func() {},
		"calls wait for clients that are gone")
	for _, field := range []string{"blocked_clients", "clients_in_timeout_table", "total_blocking_keys"} {
		require.Equal(t, "0", infoField(t, watcher, field), field)
	}
	taken := s.check(watcher) + s.back.Load()
	require.GreaterOrEqual(t, taken, s.granted.Load(), "a call was granted what it did not take")
	require.LessOrEqual(t, taken, s.granted.Load()+s.unread.Load(), "units were taken for no call")
}

// heapAfter returns how much of the heap is in use.
func heapAfter() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // empties pools
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWaitersThatHangUp does not run in parallel, because it counts goroutines.
func TestWaitersThatHangUp(t *testing.T) {
	for _, over := range []string{"sockets", "pipes"} {
		t.Run(over, func(t *testing.T) {
			before := runtime.NumGoroutine()
			cfg := config.New()
			var srv *server.Server
			s := &waitsSoak{t: t}
			if over == "sockets" {
				srv, _ = serve(t, server.Options{Config: cfg}, "--bind", "127.0.0.1")
				s.dial = func() net.Conn {
					conn, err := net.Dial("tcp", srv.Addr().String())
					require.NoError(t, err)
					return conn
				}
			} else {
				var l interface {
					Dial(context.Context) (net.Conn, error)
				}
				srv, l = servePipe(t, server.Options{Config: cfg})
				s.dial = func() net.Conn {
					conn, err := l.Dial(t.Context())
					require.NoError(t, err)
					return conn
				}
			}
			clients, rounds := race.Fewer(150), 24
			s.run(1, clients, rounds)
			first := heapAfter()
			s.run(2, clients, rounds)
			eventually(t, func() bool { return heapAfter() < first+1<<20 }, runtime.Gosched, "memory leaks")
			require.NotZero(t, s.granted.Load())
			require.NoError(t, srv.Close())
			eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, runtime.Gosched,
				"goroutines leak")
		})
	}
}

// One client fills the queue of a key with pipelines of many connections: the rest of them is refused, other
// keys are served, and who has waited is served in the order of arrival.
func TestQueueFilledByOneClient(t *testing.T) {
	const most, connections, calls = 40, 64, 20
	srv := start(t, "--bind", "127.0.0.1", "--rl-max-waiting", strconv.Itoa(most))
	watcher := connect(t, srv)
	doLine(t, watcher, "RL.ALLOW k 1 1h")
	pipeline := strings.Repeat("RL.ALLOW k 1 1h WAIT 1h\r\n", calls)
	all := make([]*wire, connections)
	for i := range all {
		all[i] = connect(t, srv)
		require.NoError(t, all[i].sendRaw([]byte(pipeline)))
		if i < most { // in this order
			watcher.awaitBlocked(t, i+1)
		}
	}
	refused := "-ERR as many calls wait for key 'k' as rl-max-waiting allows (40)"
	for _, c := range all[most:] {
		for range calls {
			require.Equal(t, refused, c.reply(t))
		}
	}
	require.Equal(t, fmt.Sprint(most), infoField(t, watcher, "rl_waiting_calls"))
	const granted = "*6\r\n:1\r\n:1\r\n:0\r\n:0\r\n"
	require.True(t, strings.HasPrefix(doLine(t, watcher, "RL.ALLOW other 1 1h WAIT 1h"), granted))
	for i, c := range all[:most] {
		require.Equal(t, ":1", doLine(t, watcher, "RL.REFUND k 1"))
		require.True(t, strings.HasPrefix(c.reply(t), granted))
		require.NoError(t, c.conn.Close()) // its next call may wait already
		left := fmt.Sprint(most - 1 - i)
		eventually(t, func() bool { return infoField(t, watcher, "rl_waiting_calls") == left }, func() {},
			"calls of closed connections wait")
	}
}
