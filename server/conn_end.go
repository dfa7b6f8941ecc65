package server

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

const (
	// drainTimeout bounds how long a server that shuts down answers a client that
	// does not stop sending, if it is unknown how much had arrived.
	drainTimeout = time.Second
	// lingerTimeout is how long a connection that is to close waits for a client
	// that reads none of its replies.
	lingerTimeout = 2 * time.Second
	// quietPeriod is how long a client must be silent until a connection that is to
	// close assumes that nothing more is on its way.
	quietPeriod = 20 * time.Millisecond
)

// errShuttingDown is why nothing more is read when the server shuts down.
var errShuttingDown = errors.New("server is shutting down")

// life is when a connection's client was last heard of, and how it ends.
type life struct {
	remote, local string
	lastActive    time.Time   // when bytes last arrived, if there is a timeout or it drains
	began         time.Time   // when the phase began, or draining
	left          int         // bytes that a connection that drains may still answer; negative: unknown
	heard         bool        // a silent connection's client has sent something
	timer         *time.Timer // wakes the connection
	armed         atomic.Bool // timer is going to
}

// after calls wake later, unless that is under way.
func (f *life) after(d time.Duration, wake func()) {
	switch {
	case f.armed.Swap(true):
	case f.timer == nil:
		f.timer = time.AfterFunc(d, func() {
			f.armed.Store(false)
			wake()
		})
	default:
		f.timer.Reset(d)
	}
}

// stop prevents a call of after's.
func (f *life) stop() {
	if f.timer != nil {
		f.timer.Stop()
		f.armed.Store(false)
	}
}

// isIdle reports whether the directive timeout disconnects the client now.
func (c *conn) isIdle() bool {
	until := c.idleDeadline()
	if until.IsZero() {
		return false
	}
	left := time.Until(until)
	if left > 0 {
		c.life.after(left, c.wake)
	}
	return left <= 0
}

// idleDeadline returns when timeout disconnects the client, or zero if it does not.
// The time counts from the last bytes received, or sent after a wait. A client that
// is blocked, subscribed or monitoring is not idle.
func (c *conn) idleDeadline() time.Time {
	if c.limits.idle <= 0 || c.session.Blocked() != nil || c.session.Subscribed() || c.session.Monitoring() ||
		c.session.Replica() {
		return time.Time{}
	}
	last := c.life.lastActive
	if lastWrite := c.out.lastWriteTime(); lastWrite.After(last) {
		last = lastWrite
	}
	return last.Add(c.limits.idle)
}

// shutDown makes the connection answer what has arrived, and close.
func (c *conn) shutDown() {
	c.signals.shuttingDown.Store(true)
	c.wake()
	if c.signals.handshaking.Load() {
		c.abort()
	}
}

// drain begins to answer what the system had received for the client when shutdown began, which is at most
// what fits into its receive buffer. Later input is ignored.
func (c *conn) drain() {
	c.life.stop()
	c.seat.draining, c.seat.unread = true, true
	now := time.Now()
	c.life.began, c.life.lastActive, c.life.left = now, now, -1
	switch t := c.carrier.(type) {
	case *socket:
		c.life.left = t.receiveBuffer()
	case *fed: // its goroutine may be about to read
		c.life.after(quietPeriod, c.wake)
	}
}

// drained reports, after a read of n bytes, whether drain ends.
func (c *conn) drained(n int) bool {
	_, isFed := c.carrier.(*fed)
	switch {
	case n == 0 && isFed && time.Since(c.life.lastActive) < quietPeriod:
		c.life.after(quietPeriod, c.wake)
		return false
	case n == 0:
		return true
	case c.life.left < 0:
		return time.Since(c.life.began) >= drainTimeout
	}
	c.life.left = max(c.life.left-n, 0)
	return c.life.left == 0
}

// end ends the service of a client. graceful says that it may still read replies.
func (c *conn) end(graceful bool) {
	if c.phase > open {
		return
	}
	c.stopBlockTimer()
	c.life.stop()
	unread := c.out.overflow()
	if unread > 0 { // counted and logged before other clients can see that it is gone
		c.server.engine.Stats().Refusals.OutputLimit.Add(1)
		c.logEnd(slog.LevelWarn, "closed by client-output-buffer-limit", "unread", unread)
	}
	c.phase = gone // if the following panics
	c.session.Close()
	if unread > 0 || !graceful {
		c.close()
		return
	}
	if !c.waitDurable(c.server.engine.Unsynced()) {
		c.close()
		return
	}
	c.phase, c.life.began = ending, time.Now()
	c.out.flush()
	c.finish()
}

// finish waits until everything is sent, as long as the client makes progress, and closes the connection so
// that it arrives: closing with input unread would be a reset, after which systems drop replies on their way.
func (c *conn) finish() {
	err := errUnsent
	if c.out.drained() {
		err = c.transport.closeWrite()
	}
	switch {
	case errors.Is(err, errUnsent):
		since := c.life.began
		if last := c.out.lastWriteTime(); last.After(since) {
			since = last
		}
		if left := c.server.timeouts.linger - time.Since(since); left > 0 {
			c.life.after(left, c.wake)
		} else {
			c.close()
		}
		return
	case err != nil:
		c.close()
		return
	}
	c.phase = silent
	c.life.began, c.life.heard = time.Now(), true
	c.life.stop()
	c.listen()
}

// listen reads what still arrives, until the client is silent.
func (c *conn) listen() {
	heard := c.life.heard
	c.life.heard = false
	switch {
	case c.progress.readErr != nil && !errors.Is(c.progress.readErr, errShuttingDown),
		time.Since(c.life.began) >= lingerTimeout:
		c.close()
	case heard || c.life.armed.Load():
		c.life.after(quietPeriod, c.wake)
	default:
		c.close()
	}
}

// close closes the connection.
func (c *conn) close() {
	c.phase = gone
	c.life.stop()
	c.out.close()
}

// timedOut reports whether err is a deadline that has passed.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
