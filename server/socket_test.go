package server

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server/pipe"
)

// testTimeout bounds, in real time, how long a test waits for a missing reply. It
// is much longer than any reply takes on a busy machine.
const testTimeout = 5 * time.Minute

// newConfig returns a configuration with the given arguments.
func newConfig(t *testing.T, args ...string) *config.Config {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(args, nil))
	return cfg
}

// startServer runs a server until the test ends.
func startServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Listen(o)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-served)
	})
	return s
}

// requirePong requires that the server at an address answers PING.
func requirePong(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(testTimeout)))
	_, err = io.WriteString(c, "PING\r\n")
	require.NoError(t, err)
	reply := make([]byte, len("+PONG\r\n"))
	_, err = io.ReadFull(c, reply)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", string(reply))
	return c
}

// socketPath returns a short path: a unix socket's is limited to about a hundred
// bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zlimit")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	for _, perm := range []string{"600", "777"} {
		path := socketPath(t)
		s := startServer(t,
			Options{Config: newConfig(t, "--port", "0", "--unixsocket", path, "--unixsocketperm", perm)})
		require.Equal(t, "unix", s.Addr().Network())
		require.Zero(t, s.Port())
		require.Contains(t, s.Greeting(), "listens on "+path+"; try: redis-cli -s "+path+" RL.ALLOW")
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, perm, fmt.Sprintf("%o", info.Mode().Perm()))
		c := requirePong(t, s.Addr())
		_, err = io.WriteString(c, "CLIENT INFO\r\n")
		require.NoError(t, err)
		line := make([]byte, 200)
		n, err := c.Read(line)
		require.NoError(t, err)
		require.Contains(t, string(line[:n]), "addr="+path+":0 laddr="+path+":0 ")
		require.Contains(t, string(line[:n]), "flags=U")
		require.NoError(t, s.Close())
		require.NoFileExists(t, path)
	}
}

func TestUnixSocketAndTCP(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	s := startServer(t, Options{
		Config:   newConfig(t, "--bind", "127.0.0.1", "--unixsocket", path),
		FreePort: true,
	})
	require.Len(t, s.listeners, 2)
	for _, l := range s.listeners {
		requirePong(t, l.Addr())
	}
	require.NotZero(t, s.Port())
	require.Contains(t, s.Greeting(),
		fmt.Sprintf("listens on 127.0.0.1:%d, %s; try: redis-cli -p %d RL.ALLOW", s.Port(), path, s.Port()))
}

func TestUnixSocketOfDeadProcess(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	dead, err := net.Listen("unix", path)
	require.NoError(t, err)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	require.FileExists(t, path)
	s := startServer(t, Options{Config: newConfig(t, "--port", "0", "--unixsocket", path)})
	requirePong(t, s.Addr())
}

func TestBindSeveralAddresses(t *testing.T) {
	t.Parallel()
	// 127.0.0.2 exists on Linux only; 192.0.2.1 (RFC 5737) nowhere.
	s := startServer(t, Options{Config: newConfig(t,
		"--bind", "127.0.0.1", "-127.0.0.2", "-::1", "-192.0.2.1"), FreePort: true})
	if runtime.GOOS == "linux" {
		require.GreaterOrEqual(t, len(s.listeners), 2)
	}
	for _, l := range s.listeners {
		require.Equal(t, s.Port(), l.Addr().(*net.TCPAddr).Port, "the same port everywhere")
		require.NotContains(t, l.Addr().String(), "192.0.2.1")
		requirePong(t, l.Addr())
	}
}

func TestBindAllAddresses(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Config: newConfig(t, "--bind", "*", "-::*"), FreePort: true})
	require.Equal(t, fmt.Sprintf("0.0.0.0:%d", s.Port()), s.Addr().String())
	for _, l := range s.listeners {
		requirePong(t, l.Addr())
	}
}

// TestFailedListenClosesListeners: a port that was opened before the failure is
// free again.
func TestFailedListenClosesListeners(t *testing.T) {
	t.Parallel()
	leftOpen := func() bool {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := free.Addr().String()
		port := free.Addr().(*net.TCPAddr).Port
		require.NoError(t, free.Close())
		_, err = Listen(Options{Config: newConfig(t, "--bind", "127.0.0.1", "--port", fmt.Sprint(port),
			"--unixsocket", "/no/such/directory/socket")})
		if isInUse(err) {
			return true // another process took the port
		}
		require.ErrorContains(t, err, "unixsocket")
		again, err := net.Listen("tcp", address)
		if err == nil {
			err = again.Close()
		}
		return err != nil
	}
	for tries := 1; leftOpen(); tries++ {
		require.Less(t, tries, 10, "the port stays open")
	}
}

func TestPortZeroWithPortFile(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Config: newConfig(t, "--port", "0", "--port-file", "unused")})
	require.NotZero(t, s.Port())
	requirePong(t, s.Addr())
}

func TestDeniedByProtectedMode(t *testing.T) {
	t.Parallel()
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1234} }
	for _, c := range []struct {
		remote    net.Addr
		protected bool
		password  bool
		refused   bool
	}{
		{tcp("127.0.0.1"), true, false, false},
		{tcp("127.9.9.9"), true, false, true}, // as redis-server: TestNetworkDirectives
		{tcp("::1"), true, false, false},
		{tcp("::ffff:127.0.0.1"), true, false, false},
		{&net.UnixAddr{Net: "unix", Name: "@"}, true, false, false},
		{tcp("192.0.2.1"), true, false, true},
		{tcp("10.0.0.1"), true, false, true},
		{tcp("0.0.0.0"), true, false, true},
		{tcp("::ffff:192.0.2.1"), true, false, true},
		{tcp("2001:db8::1"), true, false, true},
		{tcp("192.0.2.1"), true, true, false},
		{tcp("192.0.2.1"), false, false, false},
		{tcp("192.0.2.1"), false, true, false},
	} {
		args := []string{}
		if !c.protected {
			args = append(args, "--protected-mode", "no")
		}
		if c.password {
			args = append(args, "--requirepass", "secret")
		}
		e := engine.New(engine.Options{
			Config: newConfig(t, args...),
			Clock: clock.New(clock.Sources{
				Monotonic: func() int64 { return 0 }, Wall: func() int64 { return 0 },
			}),
		})
		require.Equal(t, c.refused, e.ProtectedModeDenies(IsLocal(c.remote)), "%+v", c)
	}
}

// remoteConn is a connection from another machine.
type remoteConn struct{ net.Conn }

func (remoteConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234} }

// nonBlockingRemoteConn is one that can be written to without blocking, as a
// socket.
type nonBlockingRemoteConn struct{ *pipe.Conn }

func (nonBlockingRemoteConn) RemoteAddr() net.Addr { return remoteConn{}.RemoteAddr() }

func TestProtectedModeRejectsWithReason(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	rejected := func(outside, inside net.Conn) {
		go s.admit(inside)
		reply, err := io.ReadAll(outside)
		require.NoError(t, err)
		require.Equal(t, deniedError, string(reply))
	}
	outside, inside := pipe.New()
	rejected(outside, nonBlockingRemoteConn{inside})
	unbuffered, blocking := net.Pipe()
	rejected(unbuffered, remoteConn{blocking})
	session := s.engine.NewSession(engine.Peer{})
	info := session.Do([][]byte{[]byte("INFO"), []byte("stats")})
	require.Contains(t, info.Str(), "rejected_connections:2\r\n")
	session.Close()
	require.Zero(t, s.engine.Sessions())
}

// TestWithoutRawSocket serves a connection that only has blocking writes, as all
// have on some systems.
func TestWithoutRawSocket(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{
		Config:   newConfig(t, "--bind", "127.0.0.1", "--protected-mode", "no"),
		FreePort: true,
	})
	s.ExtendLingerTimeout()
	outside, inside := net.Pipe()
	s.admit(remoteConn{inside})
	require.NoError(t, outside.SetDeadline(time.Now().Add(testTimeout)))
	const commands = 1000
	go io.WriteString(outside, strings.Repeat("PING\r\n", commands)+"QUIT\r\n")
	got, err := io.ReadAll(outside)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("+PONG\r\n", commands)+"+OK\r\n", string(got))
}

// A scanty is a transport that accepts only as many bytes as it is given room for.
type scanty struct {
	transport
	room int
	ends bool // shutdown was called
}

func (s *scanty) writeSome(b []byte) (int, error) {
	n := min(s.room, len(b))
	s.room -= n
	return n, nil
}

func (s *scanty) unsent() int { return 0 }
func (s *scanty) shutdown()   { s.ends = true }
func (s *scanty) close()      {}

// TestSoftLimitResets: a client that reads enough in time starts anew.
func TestSoftLimitResets(t *testing.T) {
	t.Parallel()
	client := &scanty{}
	o := output{transport: client}
	defer o.close()
	o.setLimit(&config.OutputBufferLimit{SoftBytes: 100, SoftSeconds: 1 << 40})
	o.append(make([]byte, 150))
	require.True(t, o.flush())
	require.False(t, o.queued.softSince.IsZero())
	require.NotNil(t, o.queued.softTimer)
	require.Equal(t, 150, o.waiting())
	client.room = 49
	require.False(t, o.resume())
	require.False(t, o.queued.softSince.IsZero(), "101 bytes are left")
	client.room = 101
	require.False(t, o.resume())
	require.True(t, o.queued.softSince.IsZero())
	require.Nil(t, o.queued.softTimer)
	require.Zero(t, o.waiting())
	require.True(t, o.drained())
	require.Zero(t, o.overflow())
	require.False(t, client.ends)
}

// TestHardLimitCountsAll: what is being written counts like what is behind it.
func TestHardLimitCountsAll(t *testing.T) {
	t.Parallel()
	client := &scanty{room: 5}
	o := output{transport: client}
	defer o.close()
	o.setLimit(&config.OutputBufferLimit{HardBytes: 100})
	o.append(make([]byte, 65))
	require.True(t, o.flush())
	client.room = 10
	require.False(t, o.resume())
	o.append(make([]byte, 49))
	require.True(t, o.flush())
	o.append(make([]byte, 1))
	require.False(t, o.flush(), "the limit itself is too much")
	require.Equal(t, 100, o.overflow())
	require.True(t, client.ends)
}

// TestResumeInParts: a client that reads fast lets others have their turn.
func TestResumeInParts(t *testing.T) {
	t.Parallel()
	client := &scanty{}
	o := output{transport: client}
	defer o.close()
	for range 4 * resumeBytes / queueBlock {
		o.append(make([]byte, queueBlock))
		require.True(t, o.flush())
	}
	client.room = 1 << 30
	resumed := 0
	for o.resume() {
		resumed++
	}
	require.Equal(t, 3, resumed)
	require.True(t, o.drained())
}

// TestIdleTimeoutCountsWrites: a client that slowly reads a long reply is not idle.
func TestIdleTimeoutCountsWrites(t *testing.T) {
	t.Parallel()
	read, written := time.Unix(1000, 0), time.Unix(1005, 0)
	s, err := Listen(Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	require.NoError(t, err)
	defer s.Close()
	c := &conn{
		limits: &connLimits{}, life: life{lastActive: read}, session: s.engine.NewSession(engine.Peer{}),
	}
	defer c.session.Close()
	require.True(t, c.idleDeadline().IsZero(), "no timeout")
	c.limits.idle = 10 * time.Second
	require.Equal(t, read.Add(10*time.Second), c.idleDeadline())
	c.out.queue().lastWrite = written
	require.Equal(t, written.Add(10*time.Second), c.idleDeadline())
	c.life.lastActive = written.Add(time.Second)
	require.Equal(t, written.Add(11*time.Second), c.idleDeadline())
}

func TestListenErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	require.True(t, isInUse(listenError(&net.OpError{
		Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE),
	}, "h", address{port: 1})))
	denied := listenError(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}, "h",
		address{port: 1})
	require.EqualError(t, denied, "cannot listen on h:1: permission denied")
	require.ErrorIs(t, denied, fs.ErrPermission)
}

// TestIdleConnectionsReleaseMemory: large buffers are released, even if half a
// command has arrived.
func TestIdleConnectionsReleaseMemory(t *testing.T) {
	t.Parallel()
	// Without Serve: the test is its cron.
	s, err := Listen(Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	require.NoError(t, err)
	defer s.Close()
	outside, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer outside.Close()
	require.NoError(t, outside.SetDeadline(time.Now().Add(testTimeout)))
	inside, err := s.listeners[0].Accept()
	require.NoError(t, err)
	s.admit(inside)
	const size = 100_000
	converse := func(say, want string) {
		_, err := io.WriteString(outside, say)
		require.NoError(t, err)
		reply := make([]byte, len(want))
		_, err = io.ReadFull(outside, reply)
		require.NoError(t, err)
		require.Equal(t, want, string(reply))
	}
	// One long argument is in one buffer, however the system cuts the input.
	bulk := fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("x", size))
	converse("*2\r\n$4\r\nECHO\r\n"+bulk+"PING ha", bulk)
	c := firstConn(s)
	for end := time.Now().Add(testTimeout); c.activity.bytes.Load() <= minTrim; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "no batch has ended")
	}
	s.trimIdle() // it has run a batch since the last call
	require.Greater(t, c.activity.bytes.Load(), int64(minTrim))
	for end := time.Now().Add(testTimeout); c.activity.bytes.Load() > minTrim; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "memory is not released")
		s.trimIdle()
	}
	converse("lf\r\nPING\r\n", "$4\r\nhalf\r\n+PONG\r\n")
}

func firstConn(s *Server) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		return c
	}
	return nil
}

// TestWorkAfterPanic: a panic may have left anything in a session's Work, so nobody has it again.
func TestWorkAfterPanic(t *testing.T) {
	t.Parallel()
	s, err := Listen(Options{Config: newConfig(t, "--bind", "127.0.0.1"), FreePort: true})
	require.NoError(t, err)
	defer s.Close()
	c := &conn{server: s, session: s.engine.NewSession(engine.Peer{Shares: true})}
	w := s.engine.NewWork()
	require.True(t, w.Serve(c.session))
	c.renewWork()
	require.NotSame(t, w, c.session.Release())
	c.renewWork() // it has none
	c.session.Close()
}
