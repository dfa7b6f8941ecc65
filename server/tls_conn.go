package server

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sealBytes is how much is encrypted at once, a full record, before the next is
	// made only if the socket has accepted it.
	sealBytes = 16 << 10
	// maxUnsent bounds the records that the socket has not accepted. What outputs
	// leave there is less; a client can add to it by asking for new keys.
	maxUnsent = 4 * maxPumpWrite
)

// A tlsListener is a listener whose connections are over TLS. The handshake is left
// to the connection's goroutine.
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

// A tlsConn is a connection over TLS. After the handshake it can read and write
// without blocking; see nonBlocking. All that is written passes crypto/tls to a
// wire, which never blocks it: so a client that does not read cannot block those
// that hold crypto/tls' locks, and a write that was not finished can be continued,
// which crypto/tls itself cannot after a deadline.
type tlsConn struct {
	*tls.Conn
	wire *wire
}

func newTLSConn(nc net.Conn, config *tls.Config) *tlsConn {
	w := &wire{Conn: nc, socket: newSocket(nc)}
	return &tlsConn{tls.Server(w, config), w}
}

// A wire is the connection that carries the records.
type wire struct {
	net.Conn
	socket      *socket // nil if every write blocks
	readsSome   bool    // reads do not block; used by the connection's goroutine only
	established bool    // the handshake is over: writes do not block

	mu       sync.Mutex
	records  []byte // protected by mu: not yet accepted by the socket
	draining bool   // protected by mu: drain is writing
}

// Read is called by crypto/tls, on the connection's goroutine.
func (w *wire) Read(b []byte) (int, error) {
	if w.socket == nil {
		return w.Conn.Read(b)
	}
	if !w.readsSome {
		return w.socket.read(b)
	}
	n, err := w.socket.readSome(b)
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
// keeps what the socket does not accept at once.
func (w *wire) Write(b []byte) (int, error) {
	if !w.established || w.socket == nil {
		return w.Conn.Write(b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	if len(w.records) == 0 && !w.draining {
		var err error
		if n, err = w.socket.writeSome(b); err != nil {
			return n, err
		}
	}
	if len(w.records)+len(b)-n > maxUnsent {
		return n, errTooMuchUnsent
	}
	w.records = append(w.records, b[n:]...)
	return len(b), nil
}

// drain writes the remaining records, and blocks within the write deadline.
func (w *wire) drain() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	for len(w.records) > 0 && err == nil {
		next := w.records
		w.records = nil
		w.mu.Unlock()
		_, err = w.Conn.Write(next)
		w.mu.Lock()
	}
	w.draining = false
	return err
}

// unsent returns the bytes of records that the socket has not accepted.
func (t *tlsConn) unsent() int {
	t.wire.mu.Lock()
	defer t.wire.mu.Unlock()
	return len(t.wire.records)
}

// Write blocks until b is written, within the write deadline.
func (t *tlsConn) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	if err == nil {
		err = t.wire.drain()
	}
	return n, err
}

// WriteSome encrypts as much of b as the socket accepts at once, and perhaps a
// record more, of which unsent returns what is left.
func (t *tlsConn) WriteSome(b []byte) (n int, err error) {
	if t.wire.socket == nil {
		return 0, nil
	}
	for n < len(b) && err == nil && t.unsent() == 0 {
		var sealed int
		sealed, err = t.Conn.Write(b[n:min(n+sealBytes, len(b))])
		n += sealed
	}
	return n, err
}

// ReadSome reads what has arrived, without blocking. It returns 0 and no error if
// there is nothing.
func (t *tlsConn) ReadSome(b []byte) (int, error) {
	if t.wire.socket == nil {
		_ = t.SetReadDeadline(time.Now().Add(quietPeriod)) // if it fails, so does Read
		return t.Read(b)
	}
	t.wire.readsSome = true
	defer func() { t.wire.readsSome = false }()
	for {
		// A deadline in the past would hide what is there.
		_ = t.SetReadDeadline(time.Time{})
		n, err := t.Read(b)
		switch {
		case errors.Is(err, errNothingArrived{}):
			return n, nil
		case !timedOut(err):
			return n, err
		}
	}
}

// CloseWrite tells the client that nothing more comes, and closes the sending side.
func (t *tlsConn) CloseWrite() error {
	_ = t.Conn.CloseWrite() // the end of the stream says the same
	half, ok := t.wire.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// Close closes the connection at once. Before, CloseWrite tells the client that the
// end is meant.
func (t *tlsConn) Close() error { return t.wire.Close() }

// drainTLS writes the records that were left by flush. Only the pump calls it. It
// requires that mu is held, and releases it while it blocks.
func (o *output) drainTLS() {
	o.writingBytes = o.tls.unsent()
	o.setWriteDeadline()
	o.mu.Unlock()
	err := o.tls.wire.drain()
	o.mu.Lock()
	o.writingBytes = 0
	o.lastWrite = time.Now()
	if err != nil {
		o.fail()
	}
}
