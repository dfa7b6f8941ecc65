package server

import (
	"errors"
	"time"
)

// errFinishing is what read returns when the server ends.
var errFinishing = errors.New("the server ends")

// read waits for bytes; not longer than timeout allows.
func (c *conn) read() (int, error) {
	for {
		c.follow()
		if c.trim.Swap(false) {
			c.in.release()
			c.out.buf = nil
			c.hold()
			c.session.Holds(int(c.held.Load()) + c.out.waiting())
		}
		if until := c.idleUntil(); c.deadline || !until.IsZero() {
			c.nc.SetReadDeadline(until)
			c.deadline = !until.IsZero()
		}
		if c.session.Ready() {
			return 0, nil
		}
		if c.finishing.Load() {
			return 0, errFinishing
		}
		if c.trim.Load() || c.server.limits.Load() != c.limits {
			continue
		}
		n, err := c.readWaiting(c.in.free())
		if !timedOut(err) {
			if c.limits.idle > 0 {
				c.active = time.Now()
			}
			return n, err
		}
		c.deadline = true // be it another goroutine's
		if until := c.idleUntil(); !until.IsZero() && !time.Now().Before(until) && !c.finishing.Load() {
			return 0, err
		}
	}
}

// readWaiting reads, and waits for something to arrive.
func (c *conn) readWaiting(b []byte) (int, error) {
	if c.out.socket == nil {
		return c.nc.Read(b)
	}
	return c.out.socket.read(b, c.turned)
}

// turn answers what was read, and says where the next goes: see socket.read. It
// returns nil where the loop has to look at what happened first.
func (c *conn) turn(n int) []byte {
	c.filled(n)
	c.out.sent = false
	if c.over = !c.batch(); c.over || !c.out.sent || c.mustLook() {
		return nil
	}
	return c.in.free()
}

// mustLook reports whether read has anything to do before it waits.
func (c *conn) mustLook() bool {
	return c.deadline || c.limits.idle > 0 || c.server.limits.Load() != c.limits || c.trim.Load() ||
		c.finishing.Load() || c.session.Ready() || c.session.Blocked() != nil
}

// idleUntil is when timeout disconnects the client, zero if never: it counts
// from the last bytes that came or were taken. Who waits for a key or for
// messages is not idle.
func (c *conn) idleUntil() time.Time {
	if c.limits.idle <= 0 || c.session.Blocked() != nil || c.session.Subscribed() || c.session.Monitoring() {
		return time.Time{}
	}
	last := c.active
	if taken := c.out.lastTaken(); taken.After(last) {
		last = taken
	}
	return last.Add(c.limits.idle)
}

// wake makes the connection look at what has changed.
func (c *conn) wake() { c.nc.SetReadDeadline(time.Unix(1, 0)) }

// finish makes the connection end soon: what has arrived is still answered.
func (c *conn) finish() {
	c.finishing.Store(true)
	c.wake()
}

// drain answers what the system had received for the client when the server's
// end began. More than its buffer holds cannot have been: what a client that
// does not stop sending has sent since is left out.
func (c *conn) drain() {
	end := time.Now().Add(drainTime)
	for left := c.out.socket.receiveBuffer(); left > 0 || time.Now().Before(end); {
		n := c.readArrived()
		c.filled(n)
		if n == 0 || !c.batch() {
			return
		}
		left -= n
	}
}

// readArrived reads without waiting.
func (c *conn) readArrived() int {
	if p, ok := c.nc.(unwaiting); ok {
		n, _ := p.ReadSome(c.in.free())
		return n
	}
	if c.out.socket == nil {
		c.nc.SetReadDeadline(time.Now().Add(silence))
		n, _ := c.nc.Read(c.in.free())
		return n
	}
	for {
		// A deadline that has passed would hide what is there.
		c.nc.SetReadDeadline(time.Time{})
		if n, err := c.out.socket.readSome(c.in.free()); !timedOut(err) {
			return n
		}
	}
}
