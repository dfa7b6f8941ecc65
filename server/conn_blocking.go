package server

import "time"

// bePatient starts the timeout of a command that has begun to wait. Commands
// behind it stay in the reader, as they do in Redis; what arrives meanwhile is
// read, so that it is noticed when the client hangs up.
func (c *conn) bePatient() {
	b := c.session.Blocked()
	if b == nil || b.TimeoutMs() == 0 {
		return
	}
	c.patience = time.AfterFunc(time.Duration(min(b.TimeoutMs(), int64(maxPatience/time.Millisecond)))*time.Millisecond, b.TimeOut)
}

func (c *conn) stopPatience() {
	if c.patience != nil {
		c.patience.Stop()
		c.patience = nil
	}
}

// mayPile reports whether what a client has sent behind a command that waits is
// still within client-query-buffer-limit.
func (c *conn) mayPile() bool {
	if int64(c.in.buffered()) <= c.limits.maxQueryBuf {
		return true
	}
	c.refuse(errQueryBufferLimit)
	return false
}
