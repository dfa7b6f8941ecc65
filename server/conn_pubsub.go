package server

import "github.com/zlimit/zlimit/config"

// deliver adds to the output what was published for the client. It reports
// whether the connection goes on: not if more had come, while a command of the
// client ran, than client-output-buffer-limit allows.
func (c *conn) deliver() bool {
	if c.session.Subscribed() != c.listening {
		c.listening = !c.listening
		c.out.obey(c.outputLimit())
	}
	var lost int
	c.out.buf, lost = c.session.Deliver(c.out.buf)
	if lost > 0 {
		c.out.giveUp(lost)
	}
	return lost == 0
}

// outputLimit is how much of its output the client may leave unread.
func (c *conn) outputLimit() config.OutputBufferLimit {
	if c.listening {
		return c.limits.subscriber
	}
	return c.limits.output
}
