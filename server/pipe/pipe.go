// Package pipe is an in-memory network: a listener whose connections stay within
// the process. Tests and programs that embed a server need no port for it. In a
// testing/synctest bubble, goroutines that wait on a pipe are durably blocked, so
// that time passes; on a socket they are not.
//
// Unlike net.Pipe, a connection has a buffer in each direction, so that a client
// may send a pipeline before it reads the first reply, and each direction can be
// closed alone. Unlike a socket, both ends have the same address.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package pipe

import (
	"context"
	"net"
	"sync"
)

// addr is the address of every pipe.
type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe" }

// A Listener passes connections from Dial to Accept. Listen makes one. Its methods
// may be called concurrently.
type Listener struct {
	offered chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Listen returns a listener. Only its Dial reaches it, and it uses no resources of
// the system.
func Listen() *Listener {
	return &Listener{offered: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a connection. After Close it returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.offered:
		return c, nil
	case <-l.closed:
		return nil, l.closedError("accept")
	}
}

// Dial returns the client's end of a new connection once Accept has returned the
// other. It fails if the listener is closed, and with the context's error if ctx is
// done first.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := New()
	select {
	case <-l.closed: // even if Accept could still return it
		return nil, l.closedError("dial")
	default:
	}
	select {
	case l.offered <- server:
		return client, nil
	case <-l.closed:
		return nil, l.closedError("dial")
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: addr{}, Err: ctx.Err()}
	}
}

func (l *Listener) closedError(op string) error {
	return &net.OpError{Op: op, Net: "pipe", Addr: addr{}, Err: net.ErrClosed}
}

// Close makes Accept and Dial fail. Connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address "pipe", which cannot be dialed.
func (l *Listener) Addr() net.Addr { return addr{} }
