package server

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

const (
	// sealBytes is how much is encrypted at once, a full record, before the next is
	// made only if the socket has accepted it.
	sealBytes = 16 << 10
	// maxUnsent bounds the records that the socket has not accepted. What outputs
	// leave there is less; a client can add to it by asking for new keys.
	maxUnsent = 16 * sealBytes
)

// A tlsListener is a listener whose connections are over TLS. The handshake is left
// to the connection.
type tlsListener struct {
	net.Listener
	config *atomic.Pointer[tls.Config] // never nil inside
}

func (l *tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newTLSConn(nc, l.config.Load()), nil
}

// A tlsConn is a connection over TLS. The handshake blocks; then it is a transport. All that is written
// passes crypto/tls to a wire, which never blocks it from then on: so a client that does not read cannot
// block those that hold crypto/tls' locks, and a write that was not finished can be continued, which
// crypto/tls itself cannot after a deadline.
type tlsConn struct {
	*tls.Conn
	wire *wire
}

func newTLSConn(nc net.Conn, config *tls.Config) *tlsConn {
	w := &wire{Conn: nc}
	return &tlsConn{tls.Server(w, config), w}
}

// A wire is the connection that carries the records.
type wire struct {
	net.Conn
	transport transport // that carries them once the handshake is over; nil before

	mu      sync.Mutex
	records []byte // protected by mu: not yet accepted by the transport
}

// Read is called by crypto/tls.
func (w *wire) Read(b []byte) (int, error) {
	if w.transport == nil {
		return w.Conn.Read(b)
	}
	n, _, err := w.transport.readSome(b)
	if n == 0 && err == nil {
		err = errNothingArrived{}
	}
	return n, err
}

// errNothingArrived is temporary, so that crypto/tls can go on later.
type errNothingArrived struct{}

func (errNothingArrived) Error() string   { return "nothing has arrived" }
func (errNothingArrived) Timeout() bool   { return true }
func (errNothingArrived) Temporary() bool { return true }

var errTooMuchUnsent = errors.New("too many records are unsent")

// Write is called by crypto/tls, by one goroutine at a time. After the handshake it
// keeps what the transport does not accept at once.
func (w *wire) Write(b []byte) (n int, err error) {
	if w.transport == nil {
		return w.Conn.Write(b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.records) == 0 {
		if n, err = w.transport.writeSome(b); err != nil {
			return n, err
		}
	}
	if len(w.records)+len(b)-n > maxUnsent {
		return n, errTooMuchUnsent
	}
	w.records = append(w.records, b[n:]...)
	return len(b), nil
}

// drain writes what the transport accepts of the records. It returns how many bytes are left.
func (w *wire) drain() (left int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.records) == 0 {
		return 0, nil
	}
	n, err := w.transport.writeSome(w.records)
	if w.records = w.records[n:]; len(w.records) == 0 {
		w.records = nil
	}
	return len(w.records), err
}

func (t *tlsConn) unsent() int {
	t.wire.mu.Lock()
	defer t.wire.mu.Unlock()
	return len(t.wire.records) + t.wire.transport.unsent()
}

// writeSome encrypts as much of b as the transport accepts at once, and perhaps a
// record more, of which unsent returns what is left.
func (t *tlsConn) writeSome(b []byte) (n int, err error) {
	left, err := t.wire.drain()
	for n < len(b) && err == nil && left == 0 {
		var sealed int
		sealed, err = t.Write(b[n:min(n+sealBytes, len(b))])
		n += sealed
		left = t.unsent()
	}
	return n, err
}

// readSome returns at most a record, so that there may be more after anything.
func (t *tlsConn) readSome(b []byte) (n int, more bool, err error) {
	n, err = t.Read(b)
	if errors.Is(err, errNothingArrived{}) {
		err = nil
	}
	return n, n > 0, err
}

func (t *tlsConn) hasUnread() bool                   { return t.wire.transport.hasUnread() }
func (t *tlsConn) attach(l *loop, token int32) error { return t.wire.transport.attach(l, token) }
func (t *tlsConn) shutdown()                         { t.wire.transport.shutdown() }
func (t *tlsConn) close()                            { t.wire.transport.close() }

// closeWrite tells the client that nothing more comes, and closes the sending side.
func (t *tlsConn) closeWrite() error {
	_ = t.CloseWrite() // the end of the stream says the same
	left, err := t.wire.drain()
	switch {
	case err != nil:
		return err
	case left > 0:
		return errUnsent
	}
	return t.wire.transport.closeWrite()
}

// Close closes the connection of a handshake at once.
func (t *tlsConn) Close() error { return t.wire.Close() }
