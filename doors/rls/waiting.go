package rls

import "runtime/debug"

// decideWaiting answers a request by a goroutine of its own.
func (c *conn) decideWaiting(s *stream) {
	defer c.workers.Done()
	ses, err := c.decideUnlocked(s)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.opts.Now()
	s.state = stateReceiving // no goroutine reads its body any more
	if cerr := c.answer(s, ses, err); cerr != nil {
		c.ending.failure = cerr
	}
	c.flush()
	ended := len(c.streams.open) == 0 && (c.ending.phase == draining || c.ending.leaving)
	if ended || c.ending.failure != nil || c.out.err != nil || c.windows.pending > 0 {
		c.wake() // the connection's goroutine ends it, or has a deadline to set
	}
}

// decideUnlocked decides without mu. A panic of a decision ends the connection, whose state it cannot have
// touched.
func (c *conn) decideUnlocked(s *stream) (ses *session, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.opts.Log("rls: panic deciding for %s: %v\n%s", c.credentials.Addr, p, debug.Stack())
			err = errPanic
			c.nc.Close()
		}
	}()
	c.mu.Lock()
	ses = c.sessions.acquire(s.head.authorization)
	c.mu.Unlock()
	if ses == nil {
		if ses, err = c.login(s.head.authorization); err != nil {
			return nil, err
		}
	}
	ses.decoder.request.Gone = c.gone
	return ses, ses.decide(s.body[prefixSize:])
}
