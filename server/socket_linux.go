package server

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/zlimit/zlimit/server/poll"
)

// A socket is a transport of its own descriptor, which Go's scheduler does not watch: it would look at every
// packet that a loop looks at, too.
type socket struct {
	fd    int
	ended atomic.Bool // shutdown was called
	mu    sync.Mutex
	open  bool // protected by mu: fd is this socket's
}

// newSocket returns a socket with a descriptor of its own for nc, which is to be closed. It returns
// errors.ErrUnsupported if nc has no descriptor.
func newSocket(nc net.Conn) (*socket, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{open: true}
	var e syscall.Errno
	err = raw.Control(func(fd uintptr) {
		var own uintptr
		own, _, e = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
		s.fd = int(own)
	})
	if e != 0 {
		err = os.NewSyscallError("fcntl", e)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// newSocketPoller returns a poller of sockets.
func newSocketPoller() (poll.Poller, error) { return poll.NewEpoll() }

func (s *socket) attach(l *loop, token int32) error { return l.poller.(*poll.Epoll).Add(s.fd, token) }

// The two system calls of every round are raw: a socket that does not block needs neither the scheduler's
// preparation for a wait nor its monitor thread (docs/adr/0052 has the figures).

func (s *socket) readSome(b []byte) (n int, more bool, err error) {
	for {
		if s.ended.Load() { // shutdown(2) does not discard what has arrived
			return 0, false, net.ErrClosed
		}
		r, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(s.fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch {
		case e == syscall.EINTR:
		case e == syscall.EAGAIN:
			return 0, false, nil
		case e != 0:
			return 0, false, e
		case r == 0:
			return 0, false, io.EOF
		default:
			return int(r), int(r) == len(b), nil
		}
	}
}

func (s *socket) writeSome(b []byte) (n int, err error) {
	for n < len(b) {
		r, _, e := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(s.fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b[n:]))), uintptr(len(b)-n))
		switch e {
		case 0:
			n += int(r)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return n, nil
		default:
			return n, e
		}
	}
	return n, nil
}

func (s *socket) unsent() int { return 0 }

func (s *socket) hasUnread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return false
	}
	var first [1]byte
	n, _, err := syscall.Recvfrom(s.fd, first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err == nil && n > 0
}

func (s *socket) closeWrite() error { return syscall.Shutdown(s.fd, syscall.SHUT_WR) }

func (s *socket) shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.Store(true); s.open {
		_ = syscall.Shutdown(s.fd, syscall.SHUT_RDWR) // it may be shut down already
	}
}

func (s *socket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
	_ = syscall.Close(s.fd)
}

// receiveBuffer returns a bound of what the system has received.
func (s *socket) receiveBuffer() int {
	size, _ := syscall.GetsockoptInt(s.fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	return 2 * size // a segment may exceed it
}

// keepAlive sets when a silent client is probed, and how often. As in Redis, probes begin after the interval
// and are sent at a third of it, and the third unanswered one ends the connection.
func (s *socket) keepAlive(d time.Duration) {
	seconds := int(d / time.Second)
	set := func(level, option, value int) {
		_ = syscall.SetsockoptInt(s.fd, level, option, value) // a Unix socket has none
	}
	set(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, min(seconds, 1))
	if seconds > 0 {
		set(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds)
		set(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, max(seconds/3, 1))
		set(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3)
	}
}
