//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// A socket makes a connection's system calls itself, because net.Conn cannot
// write without waiting. What the runtime calls back, and what that works on,
// lives in here, so that a call allocates nothing. All but cut belongs to the
// connection's goroutine.
type socket struct {
	raw              syscall.RawConn
	reading, writing func(fd uintptr) bool // readOnce and writeOnce, bound once
	inq              inq
	order            order
	gone             atomic.Bool // cut was called

	in   transfer
	wait bool               // the read waits if there is nothing
	turn func(n int) []byte // of the read; may be nil

	out transfer
}

// A transfer is a call under way, or the last one.
type transfer struct {
	buf []byte // what it reads into or writes from; nil when it is over
	n   int    // bytes that it moved
	err error  // why it failed
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
	if _, ok := nc.(*net.TCPConn); ok {
		_ = s.raw.Control(s.inq.ask) // of a closed one, read tells
	}
	return s
}

// read is net.Conn's Read: it waits, within the read deadline, for something to
// arrive.
//
// Where it is known that what came was all, as it is between a request and the
// next, turn is called with it instead. If that returns a buffer, read goes on to
// wait, for what is to come into it, without asking first whether that is there:
// half of the reads of a client that waits for each reply would find nothing. If
// it returns nil, read returns nothing. So the second call comes later, when
// something has come, or the deadline, or the connection's end; turn must have
// seen to all else, and have written (a reset that came with the data is known
// by the write that fails).
func (s *socket) read(b []byte, turn func(n int) []byte) (n int, err error) {
	s.in, s.wait, s.turn = transfer{buf: b}, true, turn
	return s.in.done(s.raw.Read(s.reading))
}

// readSome reads what has arrived, without waiting; nothing, and no error, if
// there is nothing or the client has ended its side.
func (s *socket) readSome(b []byte) (n int, err error) {
	s.in, s.wait, s.turn = transfer{buf: b}, false, nil
	if n, err = s.in.done(s.raw.Read(s.reading)); errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// writeSome writes what the socket takes at once; it is no error if that is
// less than b.
func (s *socket) writeSome(b []byte) (n int, err error) {
	s.out = transfer{buf: b}
	return s.out.done(s.raw.Write(s.writing))
}

// done ends a call: err is the runtime's, which did not get to the call.
func (t *transfer) done(err error) (int, error) {
	t.buf = nil
	if err != nil {
		return 0, err
	}
	return t.n, t.err
}

func (s *socket) readOnce(fd uintptr) (finished bool) {
	for {
		if s.gone.Load() {
			s.in.err = net.ErrClosed
			return true
		}
		s.order.set(askingOrder)
		n, all, e := s.inq.read(fd, s.in.buf)
		if e != 0 || n == 0 {
			s.order.set(idleOrder)
		} else {
			s.order.set(s.inq.stamp)
		}
		switch {
		case e == syscall.EINTR:
			continue
		case e == syscall.EAGAIN:
			return !s.wait
		case e != 0:
			s.in.err = e
		case n == 0:
			s.in.err = io.EOF
		case all && s.turn != nil:
			s.in.buf = s.turn(n)
			s.order.set(idleOrder)
			return s.in.buf == nil
		default:
			s.in.n = n
		}
		return true
	}
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

// cut ends both directions for whoever reads or writes. Close would wait until
// the read under way is over, and with it what turn is doing.
func (s *socket) cut() {
	s.gone.Store(true) // what has arrived could still be read
	_ = s.raw.Control(func(fd uintptr) {
		_ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) // closed, or cut already, is as good
	})
}

// receiveBuffer is a bound of what the system may have received and nobody has
// read; 0 where it is not known.
func (s *socket) receiveBuffer() int {
	size := 0
	if s != nil {
		_ = s.raw.Control(func(fd uintptr) { // a closed one has none
			size, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		})
	}
	return 2 * size // a segment may go beyond it
}

// fileDescriptor is what CLIENT LIST shows as fd.
func (s *socket) fileDescriptor() int {
	fd := -1
	if s != nil {
		_ = s.raw.Control(func(f uintptr) { fd = int(f) }) // a closed one has none
	}
	return fd
}
