//go:build unix

package server

import (
	"io"
	"net"
	"syscall"
)

// A socket makes a connection's system calls itself, because net.Conn cannot
// write without waiting. What the runtime calls back, and what that works on,
// lives in here, so that a call allocates nothing. It belongs to the
// connection's goroutine.
type socket struct {
	raw              syscall.RawConn
	reading, writing func(fd uintptr) bool // readOnce and writeOnce, bound once

	buf  []byte // what the call under way reads into or writes from
	n    int    // bytes that it moved
	err  error  // why it failed
	wait bool   // it waits if there is nothing to read
}

// newSocket returns the socket below a connection, nil where there is none (an
// in-memory pipe).
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
	return s
}

// read is net.Conn's Read: it waits, within the read deadline, for something to
// arrive.
func (s *socket) read(b []byte) (n int, err error) {
	s.buf, s.n, s.err, s.wait = b, 0, nil, true
	return s.done(s.raw.Read(s.reading))
}

// readSome reads what has arrived, without waiting; nothing, and no error, if
// there is nothing or the client has ended its side.
func (s *socket) readSome(b []byte) (n int, err error) {
	s.buf, s.n, s.err, s.wait = b, 0, nil, false
	if n, err = s.done(s.raw.Read(s.reading)); err == io.EOF { //nolint:errorlint // our own, never wrapped
		err = nil
	}
	return n, err
}

// writeSome writes what the socket takes at once; it is no error if that is
// less than b.
func (s *socket) writeSome(b []byte) (n int, err error) {
	s.buf, s.n, s.err = b, 0, nil
	return s.done(s.raw.Write(s.writing))
}

// done ends a call: err is the runtime's, which did not get to the call.
func (s *socket) done(err error) (int, error) {
	s.buf = nil
	if err != nil {
		return 0, err
	}
	return s.n, s.err
}

func (s *socket) readOnce(fd uintptr) (finished bool) {
	for {
		n, e := sysRead(fd, s.buf)
		switch {
		case e == syscall.EINTR:
			continue
		case e == syscall.EAGAIN:
			return !s.wait
		case e != 0:
			s.err = e
		case n == 0:
			s.err = io.EOF
		default:
			s.n = n
		}
		return true
	}
}

func (s *socket) writeOnce(fd uintptr) (finished bool) {
	for s.n < len(s.buf) {
		n, e := sysWrite(fd, s.buf[s.n:])
		switch e {
		case 0:
			s.n += n
		case syscall.EINTR:
		case syscall.EAGAIN:
			return true
		default:
			s.err = e
			return true
		}
	}
	return true
}

// receiveBuffer is a bound of what the system may have received and nobody has
// read; 0 where it is not known.
func (s *socket) receiveBuffer() int {
	size := 0
	if s != nil {
		s.raw.Control(func(fd uintptr) { //nolint:errcheck // a closed socket has none
			size, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		})
	}
	return 2 * size // a segment may go beyond it
}

// fileDescriptor is what CLIENT LIST shows as fd.
func (s *socket) fileDescriptor() int {
	fd := -1
	if s != nil {
		s.raw.Control(func(f uintptr) { fd = int(f) }) //nolint:errcheck // a closed socket has none
	}
	return fd
}
