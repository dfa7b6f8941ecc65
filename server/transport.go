package server

import (
	"errors"
	"io"
	"net"

	"github.com/zlimit/zlimit/server/poll"
)

// A transport carries a connection's bytes without blocking. Its loop is told when it can go on. Reading and
// closing belong to whom the connection belongs to; writing to the one that holds its output's lock.
type transport interface {
	// readSome reads what has arrived. more says that there may be more. It returns 0 and no error if
	// nothing has arrived, and io.EOF at the end.
	readSome(b []byte) (n int, more bool, err error)
	// writeSome writes what is accepted at once.
	writeSome(b []byte) (n int, err error)
	// unsent returns the bytes that writeSome has taken and that are still to be sent, by writeSome(nil).
	unsent() int
	// hasUnread reports whether something has arrived that was not read. Any goroutine may call it.
	hasUnread() bool
	// attach makes a loop's poller report events.
	attach(l *loop, token int32) error
	// closeWrite closes the sending side. If what says so to the client is to be sent first and is not
	// accepted yet, it returns errUnsent, and is to be called again.
	closeWrite() error
	// shutdown ends both directions. What has arrived is not read. Any goroutine may call it.
	shutdown()
	// close is called once.
	close()
}

var errUnsent = errors.New("something is to be sent first")

// feedsAll makes every transport a fed, as on systems whose poller is not known here. Tests set it.
var feedsAll bool

// newTransport returns the transport of an accepted connection. nc belongs to it from then on, but if it is a
// socket: that has a descriptor of its own, and nc is to be closed.
func newTransport(nc net.Conn) (transport, error) {
	if feedsAll {
		return newFed(nc), nil
	}
	if m, ok := nc.(inMemory); ok {
		return &memory{inMemory: m}, nil
	}
	s, err := newSocket(nc)
	if errors.Is(err, errors.ErrUnsupported) {
		return newFed(nc), nil
	}
	return s, err
}

// An inMemory is a connection that can itself read and write without blocking, as one of package pipe.
type inMemory interface {
	net.Conn
	ReadSome(b []byte) (int, error)
	WriteSome(b []byte) (int, error)
	HasUnread() bool
	// Notify makes changes of what ReadSome and WriteSome would do call ready.
	Notify(ready func())
}

// A memory is the transport of an inMemory.
type memory struct{ inMemory }

func (m *memory) readSome(b []byte) (n int, more bool, err error) {
	n, err = m.ReadSome(b)
	return n, n > 0, err
}

func (m *memory) writeSome(b []byte) (int, error) { return m.WriteSome(b) }
func (m *memory) unsent() int                     { return 0 }
func (m *memory) hasUnread() bool                 { return m.HasUnread() }
func (m *memory) shutdown()                       { m.Close() }
func (m *memory) close()                          { m.Close() }

func (m *memory) attach(l *loop, token int32) error {
	ready := l.memory(token)
	m.Notify(ready)
	ready()
	return nil
}

func (m *memory) closeWrite() error { return closeWrite(m.inMemory) }

// closeWrite closes the sending side of a connection, if it can be closed alone.
func closeWrite(nc net.Conn) error {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok {
		return io.ErrClosedPipe
	}
	return half.CloseWrite()
}

// memory returns what reports that a connection in memory is ready.
func (l *loop) memory(token int32) func() {
	m := l.poller.(*poll.Memory)
	return func() { m.Ready(token) }
}
