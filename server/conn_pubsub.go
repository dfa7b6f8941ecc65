package server

import "github.com/zlimit/zlimit/config"

// deliver appends messages for the client to the output. It reports whether the
// connection stays open: not if more than client-output-buffer-limit arrived while
// a command ran.
func (c *conn) deliver() bool {
	if c.session.Subscribed() != c.progress.subscribed {
		c.progress.subscribed = !c.progress.subscribed
		c.setOutputLimit()
	}
	var lost int
	c.out.buf, lost = c.session.Deliver(c.out.buf)
	if lost > 0 {
		c.out.abortOverflow(lost)
	}
	return lost == 0
}

const (
	// unauthOutput is how many bytes of replies a client may leave unread before AUTH.
	// Redis closes it when they are more than 1024.
	unauthOutput = 1025
	// unauthBatch is how many bytes of replies one batch may have before AUTH: what
	// Redis collects before it counts them as unread, and unauthOutput.
	unauthBatch = 16<<10 + unauthOutput
)

var unauthLimit = config.OutputBufferLimit{HardBytes: unauthOutput}

// setOutputLimit applies the limit of the client's class, which may have changed.
func (c *conn) setOutputLimit() {
	limit := c.outputLimit()
	c.out.setLimit(limit)
	c.session.SetReplyLimit(limit.HardBytes)
}

// outputLimit returns the client-output-buffer-limit of the client's class.
func (c *conn) outputLimit() *config.OutputBufferLimit {
	switch {
	case !c.session.Authenticated():
		return &unauthLimit
	case c.progress.subscribed:
		return &c.limits.subscriber
	}
	return &c.limits.output
}
