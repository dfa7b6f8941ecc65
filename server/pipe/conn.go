package pipe

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// bufferBytes is how much one direction holds before a writer has to wait, as
// much as a socket of Linux at first.
const bufferBytes = 64 << 10

// A Conn is one end of a connection. As with every net.Conn, several goroutines
// may use it at once. It has no goroutine of its own.
type Conn struct {
	in, out *stream
}

// New returns the two ends of a connection.
func New() (a, b *Conn) {
	one, other := newStream(), newStream()
	return &Conn{one, other}, &Conn{other, one}
}

// Read waits for bytes, not longer than the read deadline. After the other end
// has closed and everything was read it returns io.EOF.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b, true) }

// ReadSome reads what has arrived, without waiting and whatever the deadline:
// nothing, and no error, if there is nothing.
func (c *Conn) ReadSome(b []byte) (int, error) { return c.in.read(b, false) }

// Write waits until everything has found room, not longer than the write
// deadline. It fails with io.ErrClosedPipe when the other end has closed.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b, true) }

// WriteSome writes what finds room, without waiting; it is no error if that is
// less than b.
func (c *Conn) WriteSome(b []byte) (int, error) { return c.out.write(b, false) }

// CloseWrite ends what this end sends; it may read on.
func (c *Conn) CloseWrite() error {
	c.out.end()
	return nil
}

// Close ends both directions: the other end reads what was sent, and then
// io.EOF. It may be called more than once.
func (c *Conn) Close() error {
	c.in.abandon()
	c.out.end()
	c.in.reading.set(time.Time{}, c.in)
	c.out.writing.set(time.Time{}, c.out)
	return nil
}

// LocalAddr is the address of every pipe.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr is the address of every pipe.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline bounds the waiting of reads, those under way too; zero: it is
// not bounded.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.reading.set(t, c.in)
	return nil
}

// SetWriteDeadline does the same for writes.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.writing.set(t, c.out)
	return nil
}

// stream is one direction. The mutex is held for moments only; who waits does so
// at the condition, which testing/synctest knows as waiting.
type stream struct {
	mu        sync.Mutex
	changed   *sync.Cond // something below is not as it was
	buf       []byte     // protected by mu: bytes on their way
	ended     bool       // protected by mu: the writer has closed
	abandoned bool       // protected by mu: the reader has closed

	reading, writing deadline // protected by mu
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte, wait bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.abandoned:
			return 0, net.ErrClosed
		case wait && s.reading.passed:
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > 0 || len(b) == 0:
			n := copy(b, s.buf)
			if s.buf = s.buf[n:]; len(s.buf) == 0 {
				s.buf = nil
			}
			s.changed.Broadcast()
			return n, nil
		case !wait:
			return 0, nil
		case s.ended:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte, wait bool) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.ended:
			return n, net.ErrClosed
		case s.abandoned:
			return n, io.ErrClosedPipe
		case wait && s.writing.passed:
			return n, os.ErrDeadlineExceeded
		}
		if room := min(bufferBytes-len(s.buf), len(b)-n); room > 0 {
			s.buf = append(s.buf, b[n:n+room]...)
			n += room
			s.changed.Broadcast()
		}
		if n == len(b) || !wait {
			return n, nil
		}
		s.changed.Wait()
	}
}

// end is the writer's closing.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
}

// abandon is the reader's closing; what it has not read is lost.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned = true
	s.buf = nil
	s.changed.Broadcast()
}

// deadline is when waiting ends.
type deadline struct {
	timer  *time.Timer
	passed bool
	number int // of settings, so that a timer that was too late to stop does nothing
}

// set replaces the deadline of s that d is.
func (d *deadline) set(t time.Time, s *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.number++
	d.passed = false
	if !t.IsZero() {
		if left := time.Until(t); left <= 0 {
			d.passed = true
		} else {
			number := d.number
			d.timer = time.AfterFunc(left, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if d.number == number {
					d.passed = true
					s.changed.Broadcast()
				}
			})
		}
	}
	s.changed.Broadcast()
}
