// Package pipe is a network in memory: a listener whose connections never leave
// the process. A test, or a program that embeds a server, needs no port for it,
// and inside a bubble of testing/synctest time passes for who waits on one,
// which it does not for who waits on a socket.
//
// Unlike net.Pipe a connection has a buffer in each direction, so that a client
// may send a pipeline before it reads the first reply, and can end one direction
// alone. It is not a socket in one thing more: its two ends have the same
// address.
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

// A Listener hands what Dial opens to Accept. Make one with Listen. Its methods
// may be called concurrently.
type Listener struct {
	offered chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Listen returns a listener. Nobody else can dial it, and it holds nothing that
// the system would know of.
func Listen() *Listener {
	return &Listener{offered: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a connection. The error after Close is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.offered:
		return c, nil
	case <-l.closed:
		return nil, l.refusal("accept")
	}
}

// Dial returns the client's end of a new connection as soon as Accept has taken
// the other. It fails when the listener is closed, and with the context's error
// when that ends first.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := New()
	select {
	case <-l.closed: // even where somebody is about to accept still
		return nil, l.refusal("dial")
	default:
	}
	select {
	case l.offered <- server:
		return client, nil
	case <-l.closed:
		return nil, l.refusal("dial")
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: addr{}, Err: ctx.Err()}
	}
}

func (l *Listener) refusal(op string) error {
	return &net.OpError{Op: op, Net: "pipe", Addr: addr{}, Err: net.ErrClosed}
}

// Close ends Accept and Dial. Connections go on.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is "pipe", which nobody can dial.
func (l *Listener) Addr() net.Addr { return addr{} }
