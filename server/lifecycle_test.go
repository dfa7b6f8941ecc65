package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/server"
)

// serveWith runs a server that is closed at the end of the test, or by the test.
// logged returns the server's log so far.
func serveWith(t *testing.T, cfg *config.Config, args ...string) (srv *server.Server, served <-chan error,
	logged func() string,
) {
	t.Helper()
	var lines lockedBuffer
	o := server.Options{Config: cfg, Log: slog.New(logging.Text(&lines, 1))}
	srv, served = serve(t, o, append([]string{"--bind", "127.0.0.1"}, args...)...)
	return srv, served, lines.String
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// connect opens a connection that is closed at the end of the test.
func connect(t *testing.T, srv *server.Server) *wire {
	t.Helper()
	c, err := net.Dial(srv.Addr().Network(), srv.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return newWire(c)
}

// call sends one command and returns its reply without the final CRLF.
func (w *wire) call(t *testing.T, words ...string) string {
	t.Helper()
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	require.NoError(t, w.send(args), words)
	return w.reply(t)
}

// calls sends lines at once and returns their replies, each without the final CRLF.
func (w *wire) calls(t *testing.T, lines ...string) (replies []string) {
	t.Helper()
	var b []byte
	for _, line := range lines {
		b = appendCommand(b, wordsOf(t, line))
	}
	require.NoError(t, w.sendRaw(b))
	for range lines {
		replies = append(replies, w.reply(t))
	}
	return replies
}

func (w *wire) reply(t *testing.T) string {
	t.Helper()
	reply, err := w.readReply()
	require.NoError(t, err, "after %q", reply)
	return strings.TrimSuffix(string(reply), "\r\n")
}

// readToEnd reads until the server closes the connection and returns what it read.
func (w *wire) readToEnd(t *testing.T) string {
	t.Helper()
	require.NoError(t, w.conn.SetDeadline(time.Now().Add(wireTimeout)))
	rest, err := io.ReadAll(w.r)
	require.NoError(t, err, "not closed gracefully, after %d bytes", len(rest))
	return string(rest)
}

// awaitClose reads until the connection is closed or reset, and returns the number
// of bytes read.
func (w *wire) awaitClose(t *testing.T) int64 {
	t.Helper()
	require.NoError(t, w.conn.SetDeadline(time.Now().Add(wireTimeout)))
	n, err := io.Copy(io.Discard, w.r)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the connection is not closed")
	return n
}

// eventually waits until ok returns true, and calls between after each attempt
// instead of sleeping.
func eventually(t *testing.T, ok func() bool, between func(), what ...any) {
	t.Helper()
	require.True(t, comesAbout(wireTimeout, ok, between), what...)
}

// comesAbout calls ok until it returns true, and between after each attempt. What takes more than a few waits
// for another goroutine or process, to which it leaves the processor. The pauses between attempts are a part
// of the time so far, so that what takes seconds is not asked for a thousand times. It reports false after
// the timeout.
func comesAbout(timeout time.Duration, ok func() bool, between func()) bool {
	const (
		part    = 16
		longest = 25 * time.Millisecond
	)
	begin := time.Now()
	for attempts := 1; !ok(); attempts++ {
		waited := time.Since(begin)
		if waited > timeout {
			return false
		}
		between()
		if attempts > 20 {
			<-time.After(min(max(waited/part, time.Millisecond), longest))
		}
	}
	return true
}

// meanwhile calls do again and again until stop is called, which requires that it has not failed.
func meanwhile(t *testing.T, do func() error) (stop func()) {
	t.Helper()
	ended, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-ended:
				failed <- nil
				return
			default:
			}
			if err := do(); err != nil {
				failed <- err
				return
			}
		}
	}()
	return func() {
		t.Helper()
		close(ended)
		require.NoError(t, <-failed)
	}
}

// exchange sends lines and reads as many replies. It returns the first that is an error as one.
func (w *wire) exchange(lines string) error {
	if err := w.sendRaw([]byte(lines)); err != nil {
		return err
	}
	for range strings.Count(lines, "\r\n") {
		reply, err := w.readReply()
		if err != nil {
			return err
		}
		if reply[0] == '-' {
			return fmt.Errorf("%q", reply)
		}
	}
	return nil
}

// requireServeReturned waits for Serve to return nil.
func requireServeReturned(t *testing.T, served <-chan error) {
	t.Helper()
	select {
	case err := <-served:
		require.NoError(t, err)
	case <-time.After(wireTimeout):
		require.Fail(t, "Serve does not return")
	}
}

func TestCloseTwiceAndConcurrently(t *testing.T) {
	t.Parallel()
	srv, served, _ := serveWith(t, config.New())
	c := connect(t, srv)
	require.Equal(t, "+PONG", c.call(t, "PING"))
	var closing sync.WaitGroup
	for range 8 {
		closing.Go(func() { require.NoError(t, srv.Close()) })
	}
	closing.Wait()
	require.NoError(t, srv.Close())
	require.Empty(t, c.readToEnd(t))
	requireServeReturned(t, served)
	_, err := net.Dial("tcp", srv.Addr().String())
	require.Error(t, err, "the listener is closed")
}

func TestCloseBeforeServe(t *testing.T) {
	t.Parallel()
	srv, err := server.Listen(server.Options{FreePort: true})
	require.NoError(t, err)
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Serve())
}

// TestCloseConcurrentWithServe is for the race detector.
func TestCloseConcurrentWithServe(t *testing.T) {
	t.Parallel()
	for range 20 {
		srv, err := server.Listen(server.Options{FreePort: true})
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() { served <- srv.Serve() }()
		require.NoError(t, srv.Close())
		requireServeReturned(t, served)
	}
}

// serveBusy runs a server that runs a command of a client until release is closed, and has an idle client.
func serveBusy(t *testing.T) (srv *server.Server, served <-chan error, busy *wire, release chan struct{}) {
	t.Helper()
	cfg := config.New()
	release = make(chan struct{})
	cfg.View().OnChange("loglevel", func() { <-release })
	srv, served, _ = serveWith(t, cfg)
	require.Equal(t, "+PONG", connect(t, srv).call(t, "PING"))
	busy = connect(t, srv)
	require.NoError(t, busy.sendRaw([]byte("CONFIG SET loglevel debug\r\n")))
	eventually(t, func() bool { return cfg.String("loglevel") == "debug" }, runtime.Gosched,
		"the command runs")
	return srv, served, busy, release
}

func TestCloseWithinAbortsRunningCommands(t *testing.T) {
	t.Parallel()
	srv, served, busy, release := serveBusy(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, srv.CloseWithin(ctx), context.Canceled)
	require.Zero(t, busy.awaitClose(t))
	close(release)
	requireServeReturned(t, served)
	require.NoError(t, srv.CloseWithin(t.Context()), "everything has ended")
}

func pings(n int) []byte { return bytes.Repeat([]byte("PING\r\n"), n) }

func pongs(n int) string { return strings.Repeat("+PONG\r\n", n) }

// TestShutdownAnswersReceivedCommands: the pipeline travels in one segment, so the
// first reply proves that all of it has arrived.
func TestShutdownAnswersReceivedCommands(t *testing.T) {
	t.Parallel()
	const clients, commands = 20, 2000
	for name, end := range map[string]func(t *testing.T, srv *server.Server){
		"Close": func(t *testing.T, srv *server.Server) { require.NoError(t, srv.Close()) },
		"SHUTDOWN": func(t *testing.T, srv *server.Server) {
			c := connect(t, srv)
			require.NoError(t, c.sendRaw([]byte("SHUTDOWN NOSAVE\r\n")))
			require.Empty(t, c.readToEnd(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, served, _ := serveWith(t, config.New())
			conns := make([]*wire, clients)
			for i := range conns {
				conns[i] = connect(t, srv)
				require.NoError(t, conns[i].sendRaw(pings(commands)))
			}
			for _, c := range conns {
				require.Equal(t, "+PONG", c.reply(t))
			}
			end(t, srv)
			for _, c := range conns {
				require.Equal(t, pongs(commands-1), c.readToEnd(t))
			}
			requireServeReturned(t, served)
		})
	}
}

// TestShutdownAnswersCommandsReceivedMeanwhile: commands that arrive while another
// runs are answered, although shutdown began before they were read.
func TestShutdownAnswersCommandsReceivedMeanwhile(t *testing.T) {
	t.Parallel()
	srv, served, c, release := serveBusy(t)
	const commands = 8000 // more than one read
	require.NoError(t, c.sendRaw(pings(commands)))
	closed := make(chan error, 1)
	go func() { closed <- srv.Close() }()
	<-srv.Ending()
	close(release)
	require.Equal(t, "+OK\r\n"+pongs(commands), c.readToEnd(t))
	require.NoError(t, <-closed)
	requireServeReturned(t, served)
}

// TestShutdownWaitsForSlowReaders: replies larger than any socket buffer arrive
// completely.
func TestShutdownWaitsForSlowReaders(t *testing.T) {
	t.Parallel()
	const size, replies = 1 << 20, 32
	srv, served, _ := serveWith(t, config.New())
	srv.ExtendLingerTimeout()
	c := connect(t, srv)
	require.Equal(t, "+OK", c.call(t, "SET", "k", strings.Repeat("v", size)))
	require.NoError(t, c.sendRaw(bytes.Repeat([]byte("GET k\r\n"), replies)))
	first := c.reply(t)
	closed := make(chan error, 1)
	go func() { closed <- srv.Close() }()
	<-srv.Ending()
	rest := c.readToEnd(t)
	require.Equal(t, replies-1, strings.Count(rest, first))
	require.Len(t, rest, (replies-1)*(len(first)+2))
	require.NoError(t, <-closed)
	requireServeReturned(t, served)
}

// TestShutdownWithBusyClients: at shutdown clients read complete replies and then
// the end of the stream.
func TestShutdownWithBusyClients(t *testing.T) {
	t.Parallel()
	srv, served, _ := serveWith(t, config.New())
	const clients = 16
	var clientsDone sync.WaitGroup
	started := make(chan struct{}, clients)
	for range clients {
		c := connect(t, srv)
		clientsDone.Go(func() {
			for n := 0; ; n++ {
				if n == 3 {
					started <- struct{}{}
				}
				if c.sendRaw(pings(50)) != nil {
					break // closed between two of our writes
				}
				for range 50 {
					reply, err := c.readReply()
					if err != nil {
						require.Empty(t, reply, "a truncated reply")
						return
					}
					require.Equal(t, "+PONG\r\n", string(reply))
				}
			}
		})
	}
	for range clients {
		<-started
	}
	require.NoError(t, srv.Close())
	clientsDone.Wait()
	requireServeReturned(t, served)
}

// TestShutdownIsBounded: neither a client that never stops sending nor one that
// never reads delays it for long.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	srv, served, _ := serveWith(t, config.New())
	silent, sender := connect(t, srv), connect(t, srv)
	require.Equal(t, "+OK", silent.call(t, "SET", "k", strings.Repeat("v", 1<<20)))
	require.NoError(t, silent.sendRaw(bytes.Repeat([]byte("GET k\r\n"), 50)))
	senderDone := make(chan struct{})
	go func() {
		defer close(senderDone)
		go io.Copy(io.Discard, sender.conn)
		for {
			if _, err := sender.conn.Write(pings(1000)); err != nil {
				return
			}
		}
	}()
	require.NoError(t, srv.Close())
	requireServeReturned(t, served)
	<-senderDone
}

// TestKillOfABusyClient: others are in testdata/cases.
func TestKillOfABusyClient(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	c := connect(t, srv)
	busy := connect(t, srv)
	id := strings.TrimPrefix(busy.call(t, "CLIENT", "ID"), ":")
	go func() { // never stops and never reads
		for {
			if _, err := busy.conn.Write(pings(1000)); err != nil {
				return
			}
		}
	}()
	require.Equal(t, ":1", c.call(t, "CLIENT", "KILL", "ID", id))
	busy.awaitClose(t)
}

// TestPanicEndsOneClient panics in an OnChange function, in the middle of CONFIG
// SET, as a handler might.
func TestPanicEndsOneClient(t *testing.T) {
	t.Parallel()
	cfg := config.New()
	cfg.View().OnChange("loglevel", func() { panic("planted") })
	srv, _, logged := serveWith(t, cfg)
	bystander, c := connect(t, srv), connect(t, srv)
	require.Equal(t, "+PONG", bystander.call(t, "PING"))
	require.NoError(t, c.sendRaw([]byte("SET a 1\r\nCONFIG SET loglevel debug\r\nSET a 2\r\n")))
	require.Equal(t, "+OK\r\n", c.readToEnd(t), "earlier commands are answered")
	require.Equal(t, "$1\r\n1", bystander.call(t, "GET", "a"))
	require.Equal(t, "+OK", bystander.call(t, "CONFIG", "SET", "hz", "20"), "nothing stays locked")
	require.Contains(t, logged(), "panic: planted id=")
	require.Contains(t, logged(), "TestPanicEndsOneClient", "the stack is logged")
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { bystander.call(t, "PING") },
		"the session stays")
}

// TestPanicBesideACommand panics where a client's command goes on beside the connection: in what it waits
// for, and at its timeout.
func TestPanicBesideACommand(t *testing.T) {
	t.Parallel()
	srv, _, logged := serveWith(t, config.New())
	planted := func() resp.Value { panic("planted") }
	for name, wait := range map[string]struct {
		ms       int64
		run      func(over <-chan struct{}) resp.Value
		timedOut func() resp.Value
	}{
		"wait":     {0, func(<-chan struct{}) resp.Value { return planted() }, nil},
		"lastsave": {1, func(over <-chan struct{}) resp.Value { <-over; return resp.None }, planted},
	} {
		srv.Engine().Table().Lookup([]byte(name)).Handler = func(c *commands.Ctx) resp.Value {
			return c.Env.Caller.(*engine.Session).Await(wait.ms, wait.run, wait.timedOut)
		}
	}
	bystander := connect(t, srv)
	for _, call := range []string{"WAIT 0 0\r\n", "LASTSAVE\r\n"} {
		c := connect(t, srv)
		require.NoError(t, c.sendRaw([]byte("SET a 1\r\n"+call+"SET a 2\r\n")))
		require.Equal(t, "+OK\r\n-ERR the command failed inside the server, whose log says where\r\n",
			c.readToEnd(t), call)
		require.Equal(t, "$1\r\n1", bystander.call(t, "GET", "a"), call)
	}
	require.Equal(t, 2, strings.Count(logged(), "panic: planted id="), logged())
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { bystander.call(t, "PING") },
		"the sessions stay")
}

// TestNoLeaks disconnects clients in every abnormal way. It does not run in
// parallel, because it counts goroutines.
func TestNoLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	srv, served, _ := serveWith(t, config.New())
	watcher := connect(t, srv)
	require.Equal(t, "+OK", watcher.call(t, "SET", "big", strings.Repeat("v", 1<<20)))
	for i := range 40 {
		c := connect(t, srv)
		half := fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\nabc", 1000+i)
		require.NoError(t, c.sendRaw([]byte("MULTI\r\nSET a 1\r\nDISCARD\r\nWATCH big\r\n"+half)))
		switch i % 4 {
		case 0: // hangs up in the middle of a command
		case 1: // the same with a reset
			require.NoError(t, c.conn.(*net.TCPConn).SetLinger(0))
		case 2: // resets in the middle of a reply larger than any buffer
			require.NoError(t, c.sendRaw(bytes.Repeat([]byte("x"), 1000+i-3)))
			require.NoError(t, c.sendRaw([]byte("\r\n"+strings.Repeat("GET big\r\n", 20))))
			c.reply(t)
			require.NoError(t, c.conn.(*net.TCPConn).SetLinger(0))
		case 3: // the same without a reset, in a transaction
			require.NoError(t, c.sendRaw(bytes.Repeat([]byte("x"), 1000+i-3)))
			require.NoError(t,
				c.sendRaw([]byte("\r\nMULTI\r\n"+strings.Repeat("GET big\r\n", 20)+"EXEC\r\n")))
			c.reply(t)
		}
		require.NoError(t, c.conn.Close())
	}
	eventually(t, func() bool { return srv.Engine().Sessions() == 1 }, func() { watcher.call(t, "PING") },
		"sessions leak")
	require.NoError(t, watcher.conn.Close())
	require.NoError(t, srv.Close())
	requireServeReturned(t, served)
	require.Zero(t, srv.Engine().Sessions())
	// A goroutine still counts for an instant after its last statement.
	eventually(t, func() bool { return runtime.NumGoroutine() <= before }, runtime.Gosched, "goroutines leak")
}
