//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// A socket makes a connection's system calls itself, because net.Conn cannot write
// without blocking. The runtime's callbacks and their data are fields, so that a
// call allocates nothing. All methods but shutdown belong to the connection's
// goroutine.
type socket struct {
	raw              syscall.RawConn
	reading, writing func(fd uintptr) bool // readOnce and writeOnce, bound once
	inq              inq
	order            order
	closed           atomic.Bool // shutdown was called

	in       transfer
	blocking bool             // the read blocks if there is nothing
	waits    int              // how often a read found nothing more and waited
	from     *reader          // whose buffer is read into; nil: in.buf
	onRead   func(n int) bool // see readInto; may be nil

	out transfer
}

// A transfer is a call in progress, or the last one.
type transfer struct {
	buf []byte // what it reads into or writes from; nil when it is done
	n   int    // bytes transferred
	err error  // its error
}

// newSocket returns the socket of a connection, or nil if it has none, as an
// in-memory pipe.
func newSocket(nc net.Conn) *socket {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.reading, s.writing = s.readOnce, s.writeOnce
	if _, ok := nc.(*net.TCPConn); ok {
		_ = s.raw.Control(s.inq.enable) // if it is closed, read fails
	}
	return s
}

// read is like net.Conn's Read: it blocks, within the read deadline, until
// something arrives.
func (s *socket) read(b []byte) (n int, err error) {
	s.in, s.blocking, s.from, s.onRead = transfer{buf: b}, true, nil, nil
	return s.in.done(s.raw.Read(s.reading))
}

// readInto is read for a reader, which has no buffer while nothing arrives.
//
// If no more has arrived, as between a request and the next, readInto calls onRead
// instead of returning. If that returns true, readInto waits for input without trying
// to read first: half of the reads for a client that waits for each reply would find
// nothing. If it returns false, readInto returns 0. As the next system call is made
// only at new input, the deadline, or the connection's end, onRead must have dealt
// with everything else, and must have written: the failing write notices a reset that
// came with the data.
func (s *socket) readInto(r *reader, onRead func(n int) bool) (n int, err error) {
	s.in, s.blocking, s.from, s.onRead = transfer{}, true, r, onRead
	return s.in.done(s.raw.Read(s.reading))
}

// readSome reads what has arrived, without blocking. It returns 0 and no error if
// there is nothing or the client has closed its sending side.
func (s *socket) readSome(b []byte) (n int, err error) {
	s.in, s.blocking, s.from, s.onRead = transfer{buf: b}, false, nil, nil
	if n, err = s.in.done(s.raw.Read(s.reading)); errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// writeSome writes what the socket accepts at once, which may be less than b.
func (s *socket) writeSome(b []byte) (n int, err error) {
	s.out = transfer{buf: b}
	return s.out.done(s.raw.Write(s.writing))
}

// done ends a call. err is the runtime's, if it did not make the call.
func (t *transfer) done(err error) (int, error) {
	t.buf = nil
	if err != nil {
		return 0, err
	}
	return t.n, t.err
}

func (s *socket) readOnce(fd uintptr) (finished bool) {
	for {
		if s.closed.Load() {
			s.in.err = net.ErrClosed
			return true
		}
		if s.from != nil {
			s.in.buf = s.from.free()
		}
		s.order.set(orderReading)
		n, all, e := s.inq.read(fd, s.in.buf)
		if e != 0 || n == 0 {
			s.order.set(orderIdle)
		} else {
			s.order.set(s.inq.arrivedNs)
		}
		switch {
		case e == syscall.EINTR:
			continue
		case e == syscall.EAGAIN:
			s.waits++
			if s.from != nil {
				s.lend()
			}
			return !s.blocking
		case e != 0:
			s.in.err = e
		case n == 0:
			s.in.err = io.EOF
		case all && s.onRead != nil:
			waits := s.onRead(n)
			s.order.set(orderIdle)
			s.waits++
			if waits {
				s.lend()
			}
			return !waits
		default:
			s.in.n = n
		}
		return true
	}
}

// lend gives the reader's buffer to other connections while this one waits.
func (s *socket) lend() {
	s.in.buf = nil // it would keep the buffer alive
	s.from.lend()
}

func (s *socket) writeOnce(fd uintptr) (finished bool) {
	t := &s.out
	for t.n < len(t.buf) {
		n, e := sysWrite(fd, t.buf[t.n:])
		switch e {
		case 0:
			t.n += n
		case syscall.EINTR:
		case syscall.EAGAIN:
			return true
		default:
			t.err = e
			return true
		}
	}
	return true
}

// shutdown ends both directions for all readers and writers. Close would block
// until the current read has returned, and with it onRead.
func (s *socket) shutdown() {
	s.closed.Store(true) // shutdown(2) does not discard what has arrived
	_ = s.raw.Control(func(fd uintptr) {
		_ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) // it may be closed or shut down already
	})
}

// waited returns how often a read found nothing more.
func (s *socket) waited() int {
	if s == nil {
		return 0
	}
	return s.waits
}

// receiveBuffer returns a bound of what the system has received and the server has
// not read, or 0 if it is unknown.
func (s *socket) receiveBuffer() int {
	size := 0
	if s != nil {
		_ = s.raw.Control(func(fd uintptr) { // a closed one has none
			size, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		})
	}
	return 2 * size // a segment may exceed it
}

// fileDescriptor returns the fd of CLIENT LIST, or -1 if there is none.
func (s *socket) fileDescriptor() int {
	fd := -1
	if s != nil {
		_ = s.raw.Control(func(f uintptr) { fd = int(f) }) // a closed one has none
	}
	return fd
}
