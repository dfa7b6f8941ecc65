package rls

import (
	"encoding/binary"
	"time"
)

const (
	prefixSize  = 5       // bytes before a gRPC message
	maxMessage  = 1 << 16 // of a request
	maxPending  = 1 << 20 // bytes of responses of a connection that wait for a window
	maxKeptBody = 1 << 12 // the capacity of a stream's buffers that is kept
)

// The states of a stream.
type streamState uint8

const (
	stateReceiving streamState = iota // the request is incomplete
	stateDeciding                     // by a goroutine of its own
	stateBlocked                      // the response waits for a window
)

// A stream is a call. It is reused by later ones of its connection.
type stream struct {
	id            uint32
	state         streamState
	halfClosed    bool // the peer has sent END_STREAM
	orphan        bool // the peer has reset the stream while it is decided
	health        bool // the call is health.Check
	compressed    bool // grpc-encoding names an encoding
	authorization string
	deadline      time.Time // zero while the stream decides
	contentLength int64     // -1 if it was not given
	received      int64     // bytes of DATA, without padding
	window        int64     // for DATA of the peer
	sendSize      int64     // the window for our DATA
	body          []byte
	counted       int    // bytes of body in conn.bodies
	pending       []byte // the DATA of a response that waits for a window
	unsent        []byte // what is left of it
}

// An ended is a stream that has ended lately. If it ended early, before the peer has sent all of it, the peer
// may have sent more before it knew.
type ended struct {
	id    uint32
	early bool
}

// stream returns an open stream; nil if it is not open.
func (c *conn) stream(id uint32) *stream {
	for i := len(c.streams) - 1; i >= 0 && c.streams[i].id >= id; i-- {
		if c.streams[i].id == id {
			return c.streams[i]
		}
	}
	return nil
}

func (c *conn) newStream(id uint32) *stream {
	var s *stream
	if n := len(c.free); n > 0 {
		s, c.free = c.free[n-1], c.free[:n-1]
	} else {
		s = new(stream)
	}
	*s = stream{
		id: id, window: streamWindow, sendSize: c.peerSize,
		body: s.body[:0], pending: s.pending[:0],
	}
	c.streams = append(c.streams, s)
	return s
}

// end removes a stream. Early says that the peer has not ended it.
func (c *conn) end(s *stream, early bool) {
	for i, open := range c.streams {
		if open == s {
			c.streams = append(c.streams[:i], c.streams[i+1:]...)
			break
		}
	}
	c.pending -= len(s.unsent)
	c.bodies -= s.counted
	c.remember(s.id, early)
	if len(c.streams) == 0 {
		c.idleSince = c.now
	}
	if s.state == stateDeciding {
		return // its goroutine reads the body
	}
	c.recycle(s)
}

// recycle keeps a stream that has ended for the next one.
func (c *conn) recycle(s *stream) {
	if cap(s.body) > maxKeptBody {
		s.body = nil
	}
	if cap(s.pending) > maxKeptBody {
		s.pending = nil
	}
	s.authorization, s.unsent = "", nil
	c.free = append(c.free, s)
}

func (c *conn) remember(id uint32, early bool) {
	c.recent[c.recentAt] = ended{id, early}
	c.recentAt = (c.recentAt + 1) % len(c.recent)
}

// recall reports whether a stream has ended lately, and whether early.
func (c *conn) recall(id uint32) (known, early bool) {
	for _, r := range c.recent {
		if r.id == id {
			return true, r.early
		}
	}
	return false, false
}

// giveBack returns n bytes to the peer's window of the connection, with a frame for many of them. All that
// arrives is returned: if incomplete requests kept the window, as many as exhaust it would wait for each
// other.
func (c *conn) giveBack(n int64) {
	if c.consumed += n; c.consumed >= connWindow/2 {
		c.out = appendWindowUpdate(c.out, 0, uint32(c.consumed))
		c.consumed = 0
	}
}

// data handles DATA.
func (c *conn) data(f *frame) *connError {
	size := int64(len(f.payload))
	data, err := f.unpad()
	switch {
	case err != nil:
		return err
	case f.stream == 0 || f.stream > c.lastID && c.phase != draining:
		return &connError{codeProtocol, "DATA on an idle stream"}
	}
	c.giveBack(size)
	s := c.stream(f.stream)
	if s == nil {
		if _, early := c.recall(f.stream); early || f.stream > c.lastID {
			return c.controlFrame()
		}
		return c.resetStream(f.stream, codeStreamClosed)
	}
	s.window -= size
	s.received += int64(len(data))
	last := f.flags&flagEndStream != 0
	switch {
	case s.halfClosed:
		return c.abort(s, codeStreamClosed)
	case s.window < 0:
		return c.abort(s, codeFlowControl)
	case s.contentLength >= 0 && (s.received > s.contentLength || last && s.received != s.contentLength):
		return c.abort(s, codeProtocol)
	case last && len(s.body) == 0:
		return c.endOfRequest(s, data)
	}
	if st := checkPrefix(s, data); st != nil {
		s.halfClosed = last
		return c.fail(s, st)
	}
	if !last && c.bodies+len(data) > maxBodies {
		return c.fail(s, &status{code: statusResourceExhausted, text: "too many incomplete requests"})
	}
	c.bodies += len(data)
	s.counted += len(data)
	s.body = append(s.body, data...)
	if last {
		return c.endOfRequest(s, s.body)
	}
	if len(data) == 0 {
		return c.controlFrame()
	}
	return nil
}

// abort resets an open stream for a fault of the peer.
func (c *conn) abort(s *stream, code errorCode) *connError {
	id := s.id
	c.cancel(s, !s.halfClosed)
	return c.resetStream(id, code)
}

// cancel ends a stream whose response nobody reads. A stream that decides stays until it has, so that as many
// as are decided at a time remain bounded.
func (c *conn) cancel(s *stream, early bool) {
	if s.state == stateDeciding {
		s.orphan = true
		return
	}
	c.end(s, early)
}

// checkPrefix checks as much of a message as its first bytes and its length tell, before it is kept.
func checkPrefix(s *stream, more []byte) *status {
	var b [prefixSize]byte
	n := copy(b[:], s.body)
	if n += copy(b[n:], more); n < prefixSize {
		return nil
	}
	return checkMessage(s, b[0], binary.BigEndian.Uint32(b[1:]), len(s.body)+len(more)-prefixSize)
}

// checkMessage checks the prefix of a message and the number of its bytes that have arrived.
func checkMessage(s *stream, flag byte, size uint32, arrived int) *status {
	switch {
	case flag > 1:
		return &status{code: statusInternal, text: "unexpected flags of a message"}
	case flag == 1 && !s.compressed:
		return &status{code: statusInternal, text: "compressed message without grpc-encoding"}
	case flag == 1:
		return &status{code: statusUnimplemented, text: "compressed messages are not supported"}
	case size > maxMessage:
		return &status{code: statusResourceExhausted, text: "message larger than 65536 bytes"}
	case arrived > int(size):
		return &status{code: statusInternal, text: "more than one message"}
	}
	return nil
}

// endOfRequest handles the end of a request, with all of its body.
func (c *conn) endOfRequest(s *stream, body []byte) *connError {
	s.halfClosed = true
	c.bodies -= s.counted
	s.counted = 0
	if s.contentLength >= 0 && s.received != s.contentLength {
		return c.abort(s, codeProtocol)
	}
	return c.request(s, body)
}

// rstStream handles RST_STREAM.
func (c *conn) rstStream(f *frame) *connError {
	switch {
	case f.stream == 0:
		return &connError{codeProtocol, "RST_STREAM on stream 0"}
	case len(f.payload) != 4:
		return &connError{codeFrameSize, "RST_STREAM is not of 4 bytes"}
	case f.stream > c.lastID && c.phase != draining:
		return &connError{codeProtocol, "RST_STREAM on an idle stream"}
	}
	s := c.stream(f.stream)
	if s == nil {
		return c.controlFrame() // it crossed the response
	}
	if s.state == stateDeciding {
		s.orphan = true // which counts as open until it is decided, so that resetting gains the peer nothing
		return nil
	}
	c.end(s, false)
	return c.fault()
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
		if c.sendSize += n; c.sendSize > maxWindow {
			return &connError{codeFlowControl, "WINDOW_UPDATE overflows the connection's window"}
		}
		return c.widened()
	}
	if f.stream > c.lastID && c.phase != draining {
		return &connError{codeProtocol, "WINDOW_UPDATE on an idle stream"}
	}
	s := c.stream(f.stream)
	if s == nil {
		return c.controlFrame()
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
	waited := c.pending > 0
	c.push()
	if waited && c.pending == 0 {
		return nil
	}
	return c.controlFrame()
}
