package rls

import "encoding/binary"

// windows are a connection's flow control (RFC 9113, section 5.2), and what is kept because of it. They are
// protected by conn.mu.
type windows struct {
	consumed int64 // of the window for DATA of the peer, not yet returned
	bodies   int   // bytes of requests that have not arrived whole
	sendSize int64 // the window for our DATA
	peerSize int64 // the initial window of a stream for our DATA
	pending  int   // bytes of responses that wait for a window
}

// giveBack returns n bytes to the peer's window of the connection. The increment is what to send, and 0 until
// that is much. All that arrives is returned: if incomplete requests kept the window, as many as exhaust it
// would wait for each other.
func (w *windows) giveBack(n int64) (increment uint32) {
	if w.consumed += n; w.consumed < connWindow/2 {
		return 0
	}
	increment, w.consumed = uint32(w.consumed), 0
	return increment
}

// hold appends DATA to the body of an incomplete request.
func (w *windows) hold(s *stream, data []byte) {
	w.bodies += len(data)
	s.counted += len(data)
	s.body = append(s.body, data...)
}

// arrived no longer counts the body of a request, which has arrived whole.
func (w *windows) arrived(s *stream) {
	w.bodies -= s.counted
	s.counted = 0
}

// release no longer counts what is kept of a stream that ends.
func (w *windows) release(s *stream) {
	w.pending -= len(s.response.unsent)
	w.arrived(s)
}

// admitted returns how many of n bytes of a stream a frame may have; if none, 0 or less.
func (w *windows) admitted(s *stream, n int) int {
	return int(min(int64(n), maxFrame, w.sendSize, s.sendSize))
}

// spend subtracts n bytes of a stream from its window and the connection's.
func (w *windows) spend(s *stream, n int) {
	w.sendSize -= int64(n)
	s.sendSize -= int64(n)
}

// widen reports whether the connection's window for our DATA may be larger by n.
func (w *windows) widen(n int64) bool {
	w.sendSize += n
	return w.sendSize <= maxWindow
}

// resize sets the initial window of streams, and changes that of the open ones as much.
func (w *windows) resize(initial uint32, open []*stream) *connError {
	change := int64(initial) - w.peerSize
	w.peerSize = int64(initial)
	for _, s := range open {
		if s.sendSize += change; s.sendSize > maxWindow {
			return &connError{codeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE overflows a stream's window"}
		}
	}
	return nil
}

// push sends what the windows admit of responses that wait for them.
func (c *conn) push() {
	for i := 0; c.windows.pending > 0 && i < len(c.streams.open); {
		s := c.streams.open[i]
		if s.state != stateBlocked || !c.pushStream(s) {
			i++
		}
	}
}

// pushStream reports whether the stream has ended.
func (c *conn) pushStream(s *stream) bool {
	for len(s.response.unsent) > 0 {
		n := c.windows.admitted(s, len(s.response.unsent))
		if n <= 0 {
			return false
		}
		c.out.buf = append(appendFrame(c.out.buf, n, frameData, 0, s.id), s.response.next(n)...)
		c.windows.pending -= n
		c.windows.spend(s, n)
	}
	c.trailers(s)
	return true
}

// windowUpdate handles WINDOW_UPDATE.
func (c *conn) windowUpdate(f *frame) *connError {
	if len(f.payload) != 4 {
		return &connError{codeFrameSize, "WINDOW_UPDATE is not of 4 bytes"}
	}
	n := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if f.stream == 0 {
		if n == 0 {
			return &connError{codeProtocol, "WINDOW_UPDATE of 0"}
		}
		if !c.windows.widen(n) {
			return &connError{codeFlowControl, "WINDOW_UPDATE overflows the connection's window"}
		}
		return c.widened()
	}
	if f.stream > c.streams.lastID && c.ending.phase != draining {
		return &connError{codeProtocol, "WINDOW_UPDATE on an idle stream"}
	}
	s := c.streams.find(f.stream)
	if s == nil {
		return c.counters.controlFrame()
	}
	if n == 0 {
		return c.abort(s, codeProtocol)
	}
	if s.sendSize += n; s.sendSize > maxWindow {
		return c.abort(s, codeFlowControl)
	}
	return c.widened()
}

// widened sends what a larger window admits. A window that nothing waits for counts, and so does one that is
// opened by a few bytes at a time.
func (c *conn) widened() *connError {
	waited := c.windows.pending > 0
	c.push()
	if waited && c.windows.pending == 0 {
		return nil
	}
	return c.counters.controlFrame()
}
