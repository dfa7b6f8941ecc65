package server

import (
	"errors"
	"time"
)

// errShuttingDown is returned by read when the server shuts down.
var errShuttingDown = errors.New("server is shutting down")

// read waits for input, within the directive timeout.
func (c *conn) read() (int, error) {
	for {
		c.updateLimits()
		if c.buffers.trim.Swap(false) {
			c.in.release()
			c.out.buf = nil
			c.countBuffers()
			c.session.SetBufferBytes(int(c.buffers.bytes.Load()))
		}
		if until := c.idleDeadline(); c.hasDeadline || !until.IsZero() {
			c.nc.SetReadDeadline(until)
			c.hasDeadline = !until.IsZero()
		}
		if c.session.Ready() {
			return 0, nil
		}
		if c.shuttingDown.Load() {
			return 0, errShuttingDown
		}
		if c.buffers.trim.Load() || c.server.limits.Load() != c.limits {
			continue
		}
		n, err := c.readWaiting()
		if !timedOut(err) {
			if c.limits.idle > 0 {
				c.lastActive = time.Now()
			}
			return n, err
		}
		c.hasDeadline = true // possibly by another goroutine
		if until := c.idleDeadline(); !until.IsZero() && !time.Now().Before(until) && !c.shuttingDown.Load() {
			return 0, err
		}
	}
}

// readWaiting reads, and blocks until something arrives.
func (c *conn) readWaiting() (int, error) {
	if c.out.socket == nil || c.out.tls != nil {
		return c.nc.Read(c.in.free())
	}
	return c.out.socket.readInto(c.in, c.onRead)
}

// handleRead answers what was read. It reports false if read must check what else has
// happened before it waits for more: see socket.readInto.
func (c *conn) handleRead(n int) bool {
	c.filled(n)
	c.out.sent = false
	c.done = !c.batch()
	return !c.done && c.out.sent && !c.hasPendingWork()
}

// hasPendingWork reports whether read has anything to do before it blocks.
func (c *conn) hasPendingWork() bool {
	return c.hasDeadline || c.limits.idle > 0 || c.server.limits.Load() != c.limits ||
		c.buffers.trim.Load() || c.shuttingDown.Load() || c.session.Ready() || c.session.Blocked() != nil
}

// idleDeadline returns when timeout disconnects the client, or zero if it does not.
// The time counts from the last bytes received, or sent after a wait. A client that
// is blocked, subscribed or monitoring is not idle.
func (c *conn) idleDeadline() time.Time {
	if c.limits.idle <= 0 || c.session.Blocked() != nil || c.session.Subscribed() || c.session.Monitoring() ||
		c.session.Replica() {
		return time.Time{}
	}
	last := c.lastActive
	if lastWrite := c.out.lastWriteTime(); lastWrite.After(last) {
		last = lastWrite
	}
	return last.Add(c.limits.idle)
}

// wake makes the connection check its flags. During the TLS handshake it does
// nothing, since the handshake could not go on; read follows and checks them.
func (c *conn) wake() {
	if !c.handshaking.Load() {
		c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// shutDown makes the connection answer what has arrived, and close.
func (c *conn) shutDown() {
	c.shuttingDown.Store(true)
	c.wake()
	if c.handshaking.Load() {
		c.out.abort()
	}
}

// drain answers what the system had received for the client when shutdown began,
// which is at most what fits into its receive buffer. It ignores later input.
func (c *conn) drain() {
	end := time.Now().Add(drainTimeout)
	for left := c.out.socket.receiveBuffer(); left > 0 || time.Now().Before(end); {
		n := c.readAvailable()
		c.filled(n)
		if n == 0 || !c.batch() {
			return
		}
		left -= n
	}
}

// readAvailable reads without blocking.
func (c *conn) readAvailable() int {
	if p, ok := c.nc.(nonBlocking); ok {
		n, _ := p.ReadSome(c.in.free())
		return n
	}
	if c.out.socket == nil {
		c.nc.SetReadDeadline(time.Now().Add(quietPeriod))
		n, _ := c.nc.Read(c.in.free())
		return n
	}
	for {
		// A deadline in the past would hide what is there.
		c.nc.SetReadDeadline(time.Time{})
		if n, err := c.out.socket.readSome(c.in.free()); !timedOut(err) {
			return n
		}
	}
}
