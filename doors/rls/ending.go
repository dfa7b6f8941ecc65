package rls

import "time"

// The phases of the end of a connection.
type phase uint8

const (
	running   phase = iota
	announced       // GOAWAY was sent without a last stream, and a PING that tells when the peer has read it
	draining        // GOAWAY was sent with the last stream
)

// drainPing is the payload of the PING after the first GOAWAY.
var drainPing = [8]byte{'g', 'o', 'i', 'n', 'g', 'a', 'w', 'y'}

// An ending is how far a connection is with its end. It is protected by conn.mu.
type ending struct {
	phase   phase
	drainBy time.Time  // when the last GOAWAY is sent without an answer to the PING
	leaving bool       // the peer has sent GOAWAY
	failure *connError // of a stream's goroutine
}

// announce begins the time in which the PING is to be answered.
func (e *ending) announce(now time.Time) { e.phase, e.drainBy = announced, now.Add(drainTimeout) }

// deadline returns when the last GOAWAY is due; zero if it is not.
func (e *ending) deadline() time.Time {
	if e.phase != announced {
		return time.Time{}
	}
	return e.drainBy
}

// drain begins a graceful end: it announces it, and asks by a PING when the peer has read that. Streams that
// the peer has opened until then are answered.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending.phase != running {
		return
	}
	c.now = c.opts.Now()
	if !c.handshake.ready || !c.handshake.first {
		c.nc.Close()
		return
	}
	c.ending.announce(c.now)
	c.out.buf = appendGoAway(c.out.buf, maxStreamID, codeNo, "")
	c.out.buf = append(appendFrame(c.out.buf, 8, framePing, 0, 0), drainPing[:]...)
	c.flush()
	c.wake()
}

// lastGoAway tells the peer the last stream that is answered.
func (c *conn) lastGoAway() {
	c.ending.phase = draining
	c.out.buf = appendGoAway(c.out.buf, c.streams.lastID, codeNo, "")
}
