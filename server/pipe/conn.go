package pipe

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// bufferBytes is the buffer size of one direction, as initially of a socket on
// Linux.
const bufferBytes = 64 << 10

// A Conn is one end of an in-memory connection. As with every net.Conn, several
// goroutines may use it at once. It needs no goroutine of its own.
type Conn struct {
	in, out *stream
}

// New returns the two ends of a connection.
func New() (a, b *Conn) {
	ab, ba := newStream(), newStream()
	return &Conn{ab, ba}, &Conn{ba, ab}
}

// Read blocks until there are bytes, within the read deadline. After the other end
// is closed and everything has been read, it returns io.EOF.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b, true) }

// ReadSome reads what has arrived, without blocking and regardless of the deadline.
// It returns 0 and no error if there is nothing, and io.EOF when Read would.
func (c *Conn) ReadSome(b []byte) (int, error) { return c.in.read(b, false) }

// Write blocks until all of b is in the buffer, within the write deadline. It
// returns io.ErrClosedPipe if the other end is closed.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b, true) }

// WriteSome writes as much as the buffer has room for, without blocking.
func (c *Conn) WriteSome(b []byte) (int, error) { return c.out.write(b, false) }

// HasUnread reports whether something has arrived that was not read.
func (c *Conn) HasUnread() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return len(c.in.buf) > 0
}

// Notify makes c call ready whenever more can be read, or written, or either end is
// closed. ready must not block, nor use c.
func (c *Conn) Notify(ready func()) {
	c.in.notify(&c.in.readable, ready)
	c.out.notify(&c.out.writable, ready)
}

// CloseWrite closes the sending side; reading remains possible.
func (c *Conn) CloseWrite() error {
	c.out.closeWrite()
	return nil
}

// Close closes both directions: the other end reads what was sent, then io.EOF. It
// may be called more than once.
func (c *Conn) Close() error {
	c.in.closeRead()
	c.out.closeWrite()
	c.in.readDeadline.set(time.Time{}, c.in)
	c.out.writeDeadline.set(time.Time{}, c.out)
	return nil
}

// LocalAddr returns the address of every pipe.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr returns the address of every pipe.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets the deadline of current and later reads. Zero means none.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.readDeadline.set(t, c.in)
	return nil
}

// SetWriteDeadline sets the deadline of current and later writes. Zero means none.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.writeDeadline.set(t, c.out)
	return nil
}

// A stream is one direction. The mutex is held only briefly; waiting goroutines
// block on the condition, which testing/synctest treats as durably blocking.
type stream struct {
	mu          sync.Mutex
	changed     *sync.Cond // signals any change of the fields below
	buf         []byte     // protected by mu: bytes not yet read
	writeClosed bool       // protected by mu: the writer has closed
	readClosed  bool       // protected by mu: the reader has closed

	readDeadline, writeDeadline deadline // protected by mu
	readable, writable          func()   // protected by mu: see Notify; nil: nobody is to be told
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) notify(end *func(), ready func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*end = ready
}

// changedFor tells all that wait of a change, and those of the end that it matters to. It requires mu.
func (s *stream) changedFor(ends ...func()) {
	s.changed.Broadcast()
	for _, ready := range ends {
		if ready != nil {
			ready()
		}
	}
}

func (s *stream) read(b []byte, wait bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readClosed:
			return 0, net.ErrClosed
		case wait && s.readDeadline.passed:
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > 0 || len(b) == 0:
			n := copy(b, s.buf)
			if s.buf = s.buf[n:]; len(s.buf) == 0 {
				s.buf = nil
			}
			s.changedFor(s.writable)
			return n, nil
		case s.writeClosed:
			return 0, io.EOF
		case !wait:
			return 0, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte, wait bool) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writeClosed:
			return n, net.ErrClosed
		case s.readClosed:
			return n, io.ErrClosedPipe
		case wait && s.writeDeadline.passed:
			return n, os.ErrDeadlineExceeded
		}
		if room := min(bufferBytes-len(s.buf), len(b)-n); room > 0 {
			s.buf = append(s.buf, b[n:n+room]...)
			n += room
			s.changedFor(s.readable)
		}
		if n == len(b) || !wait {
			return n, nil
		}
		s.changed.Wait()
	}
}

// closeWrite closes the stream for its writer.
func (s *stream) closeWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeClosed = true
	s.changedFor(s.readable)
}

// closeRead closes the stream for its reader. Unread bytes are lost.
func (s *stream) closeRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readClosed = true
	s.buf = nil
	s.changedFor(s.readable, s.writable)
}

// A deadline ends waits.
type deadline struct {
	timer      *time.Timer
	passed     bool
	generation int // counts calls of set, so that a timer that fires late does nothing
}

// set sets a deadline of s.
func (d *deadline) set(t time.Time, s *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.generation++
	d.passed = false
	if !t.IsZero() {
		if left := time.Until(t); left <= 0 {
			d.passed = true
		} else {
			generation := d.generation
			d.timer = time.AfterFunc(left, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if d.generation == generation {
					d.passed = true
					s.changed.Broadcast()
				}
			})
		}
	}
	s.changed.Broadcast()
}
