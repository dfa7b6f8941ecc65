package server

import "github.com/zlimit/zlimit/config"

// deliver appends messages for the client to the output. It reports whether the
// connection stays open: not if more than client-output-buffer-limit arrived while
// a command ran.
func (c *conn) deliver() bool {
	if c.session.Subscribed() != c.subscribed {
		c.subscribed = !c.subscribed
		c.out.setLimit(c.outputLimit())
	}
	var lost int
	c.out.buf, lost = c.session.Deliver(c.out.buf)
	if lost > 0 {
		c.out.abortOverflow(lost)
	}
	return lost == 0
}

// outputLimit returns the client-output-buffer-limit of the client's class.
func (c *conn) outputLimit() config.OutputBufferLimit {
	if c.subscribed {
		return c.limits.subscriber
	}
	return c.limits.output
}
