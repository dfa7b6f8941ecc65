package rls

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A clock is a time that tests advance.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	conn *memConn
}

func newClock() *clock { return &clock{now: time.Unix(1_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// advance moves the clock, and lets what waits for a deadline look at it.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	c.conn.reading = false // until the read has looked
	c.conn.changed.Broadcast()
}

// A memConn is the server's end of a connection in memory. Its deadlines follow a clock, and its peer reads
// and writes the buffers.
type memConn struct {
	clock *clock

	mu      sync.Mutex
	changed sync.Cond
	in, out []byte
	room    int // bytes that out may hold before writes wait
	eof     bool
	closed  bool
	reading bool // the server waits for input
	readBy  time.Time
	writeBy time.Time
	writes  int
}

func newMemConn(c *clock) *memConn {
	m := &memConn{clock: c, room: 1 << 30}
	m.changed.L = &m.mu
	c.conn = m
	return m
}

func (m *memConn) passed(by time.Time) bool { return !by.IsZero() && !m.clock.Now().Before(by) }

func (m *memConn) Read(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		switch {
		case m.closed:
			return 0, net.ErrClosed
		case m.passed(m.readBy):
			return 0, os.ErrDeadlineExceeded
		case len(m.in) > 0:
			n := copy(b, m.in)
			m.in = m.in[:copy(m.in, m.in[n:])]
			return n, nil
		case m.eof:
			return 0, io.EOF
		}
		m.reading = true
		m.changed.Broadcast()
		m.changed.Wait()
		m.reading = false
	}
}

func (m *memConn) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	for len(m.out) >= m.room && !m.closed {
		if m.passed(m.writeBy) {
			return 0, os.ErrDeadlineExceeded
		}
		m.changed.Broadcast()
		m.changed.Wait()
	}
	if m.closed {
		return 0, net.ErrClosed
	}
	m.out = append(m.out, b...)
	m.changed.Broadcast()
	return len(b), nil
}

func (m *memConn) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.changed.Broadcast()
	return nil
}

func (m *memConn) SetReadDeadline(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readBy = t
	m.changed.Broadcast()
	return nil
}

func (m *memConn) SetWriteDeadline(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writeBy = t
	m.changed.Broadcast()
	return nil
}

func (m *memConn) SetDeadline(time.Time) error { panic("unused") }

func (m *memConn) LocalAddr() net.Addr { return nil }

func (m *memConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711} }

// feed gives the server input.
func (m *memConn) feed(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.in = append(m.in, b...)
	m.changed.Broadcast()
}

// take waits for n bytes of output and consumes them. It returns nil if the server has closed the connection
// before.
func (m *memConn) take(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.out) < n && !m.closed {
		m.changed.Wait()
	}
	if len(m.out) < n {
		return nil
	}
	b := append([]byte(nil), m.out[:n]...)
	m.out = m.out[:copy(m.out, m.out[n:])]
	m.changed.Broadcast()
	return b
}

// waitIdle waits until the server has read all input and waits for more, or has closed the connection.
func (m *memConn) waitIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.closed && (len(m.in) > 0 || !m.reading) {
		m.changed.Wait()
	}
}

// size returns how much output waits to be read.
func (m *memConn) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.out)
}
