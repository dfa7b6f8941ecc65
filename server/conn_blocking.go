package server

import "time"

// startBlockTimer starts the timeout of a blocked command. Later commands stay in
// the reader, as in Redis, which goes on reading to notice when the client hangs
// up.
func (c *conn) startBlockTimer() {
	b := c.session.Blocked()
	if b == nil || b.TimeoutMs() == 0 {
		return
	}
	timeout := time.Duration(min(b.TimeoutMs(), int64(maxTimeout/time.Millisecond))) * time.Millisecond
	c.progress.blockTimer = time.AfterFunc(timeout, b.TimeOut)
}

func (c *conn) stopBlockTimer() {
	if c.progress.blockTimer != nil {
		c.progress.blockTimer.Stop()
		c.progress.blockTimer = nil
	}
}

// checkQueryLimit reports whether the input behind a blocked command is within
// client-query-buffer-limit.
func (c *conn) checkQueryLimit() bool {
	if c.in == nil || int64(c.in.buffered()) <= c.limits.maxQueryBuf {
		return true
	}
	c.rejectInput(errQueryBufferLimit)
	return false
}
