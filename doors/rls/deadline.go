package rls

import "time"

// earliest returns the earlier of two times, where zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// nextDeadline returns when something expires next; zero if nothing does.
func (c *conn) nextDeadline() time.Time {
	if !c.ready {
		return c.opened.Add(prefaceTimeout)
	}
	var next time.Time
	if !c.partialSince.IsZero() {
		next = c.partialSince.Add(frameTimeout)
	}
	for _, s := range c.streams {
		next = earliest(next, s.deadline)
	}
	if c.opts.Idle > 0 && len(c.streams) == 0 {
		next = earliest(next, c.idleSince.Add(c.opts.Idle))
	}
	if c.phase == announced {
		next = earliest(next, c.drainBy)
	}
	return next
}

// expire ends what has not arrived in time. It reports whether the connection has been idle for too long.
func (c *conn) expire() (idle bool, _ *connError) {
	next := c.nextDeadline()
	if next.IsZero() || c.now.Before(next) {
		return false, nil
	}
	if !c.ready {
		return false, &connError{codeProtocol, "the preface does not arrive"}
	}
	if !c.partialSince.IsZero() && !c.now.Before(c.partialSince.Add(frameTimeout)) {
		return false, &connError{codeEnhanceYourCalm, "a frame or header block does not arrive"}
	}
	for i := 0; i < len(c.streams); {
		s := c.streams[i]
		if s.deadline.IsZero() || c.now.Before(s.deadline) {
			i++
			continue
		}
		c.end(s, !s.halfClosed)
		if err := c.resetStream(s.id, codeCancel); err != nil {
			return false, err
		}
	}
	if c.phase == announced && !c.now.Before(c.drainBy) {
		c.lastGoAway()
	}
	return c.opts.Idle > 0 && len(c.streams) == 0 && !c.now.Before(c.idleSince.Add(c.opts.Idle)), nil
}

// setReadDeadline makes the next read return when something expires. The connection's deadline is only moved
// to be earlier, and after it has passed, so that busy connections do not pay for moving it: a read that
// returns too early is repeated.
func (c *conn) setReadDeadline() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.woken {
		c.woken = false
		return nil
	}
	next := c.nextDeadline()
	passed := !c.readBy.IsZero() && !c.now.Before(c.readBy)
	if next.Equal(c.readBy) || !passed && (next.IsZero() || !c.readBy.IsZero() && c.readBy.Before(next)) {
		return nil
	}
	c.readBy = next
	return c.nc.SetReadDeadline(next)
}

// wake makes the read of the connection's goroutine return.
func (c *conn) wake() {
	c.woken, c.readBy = true, wakeTime
	if err := c.nc.SetReadDeadline(wakeTime); err != nil {
		c.nc.Close()
	}
}

// drain begins a graceful end: it announces it, and asks by a PING when the peer has read that. Streams that
// the peer has opened until then are answered.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != running {
		return
	}
	c.now = c.opts.Now()
	if !c.ready || !c.first {
		c.nc.Close()
		return
	}
	c.phase, c.drainBy = announced, c.now.Add(drainTimeout)
	c.out = appendGoAway(c.out, maxStreamID, codeNo, "")
	c.out = append(appendFrame(c.out, 8, framePing, 0, 0), drainPing[:]...)
	c.flush()
	c.wake()
}

// lastGoAway tells the peer the last stream that is answered.
func (c *conn) lastGoAway() {
	c.phase = draining
	c.out = appendGoAway(c.out, c.lastID, codeNo, "")
}
