package rls

import "time"

// earliest returns the earlier of two times, where zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// hasPassed reports whether a time has come, where zero is never.
func hasPassed(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

var wakeTime = time.Unix(1, 0) // a read deadline that has passed

// A readDeadline is the deadline of a connection's reads. It is protected by conn.mu.
type readDeadline struct {
	at    time.Time
	woken bool // it has passed on purpose
}

// move reports whether the deadline changes for something that expires at next, or never if that is zero. It
// is only moved to be earlier, and after it has passed, so that busy connections do not pay for moving it: a
// read that returns too early is repeated.
func (d *readDeadline) move(next, now time.Time) bool {
	if d.woken {
		d.woken = false
		return false
	}
	passed := hasPassed(d.at, now)
	if next.Equal(d.at) || !passed && (next.IsZero() || !d.at.IsZero() && d.at.Before(next)) {
		return false
	}
	d.at = next
	return true
}

// nextDeadline returns when something expires next; zero if nothing does.
func (c *conn) nextDeadline() time.Time {
	if !c.handshake.ready {
		return c.handshake.opened.Add(prefaceTimeout)
	}
	next := c.in.deadline()
	for _, s := range c.streams.open {
		next = earliest(next, s.deadline)
	}
	next = earliest(next, c.streams.idleUntil(c.opts.Idle))
	return earliest(next, c.ending.deadline())
}

// expire ends what has not arrived in time. It reports whether the connection has been idle for too long.
func (c *conn) expire() (idle bool, _ *connError) {
	next := c.nextDeadline()
	if !hasPassed(next, c.now) {
		return false, nil
	}
	if !c.handshake.ready {
		return false, &connError{codeProtocol, "the preface does not arrive"}
	}
	if hasPassed(c.in.deadline(), c.now) {
		return false, &connError{codeEnhanceYourCalm, "a frame or header block does not arrive"}
	}
	for i := 0; i < len(c.streams.open); {
		s := c.streams.open[i]
		if !hasPassed(s.deadline, c.now) {
			i++
			continue
		}
		c.end(s, !s.halfClosed)
		if err := c.resetStream(s.id, codeCancel); err != nil {
			return false, err
		}
	}
	if hasPassed(c.ending.deadline(), c.now) {
		c.lastGoAway()
	}
	return hasPassed(c.streams.idleUntil(c.opts.Idle), c.now), nil
}

// setReadDeadline makes the next read return when something expires.
func (c *conn) setReadDeadline() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.deadline.move(c.nextDeadline(), c.now) {
		return nil
	}
	return c.nc.SetReadDeadline(c.deadline.at)
}

// wake makes the read of the connection's goroutine return.
func (c *conn) wake() {
	c.deadline = readDeadline{at: wakeTime, woken: true}
	if err := c.nc.SetReadDeadline(wakeTime); err != nil {
		c.nc.Close()
	}
}
