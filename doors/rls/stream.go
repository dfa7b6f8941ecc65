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
	id         uint32
	state      streamState
	halfClosed bool // the peer has sent END_STREAM
	orphan     bool // the peer has reset the stream while it is decided
	head       head
	deadline   time.Time // zero while the stream decides
	data       dataSize
	window     int64 // for DATA of the peer
	sendSize   int64 // the window for our DATA
	body       []byte
	counted    int // bytes of body in windows.bodies
	response   response
}

// A dataSize is the number of bytes of DATA, without padding.
type dataSize struct {
	announced int64 // by content-length; -1 if it was not given
	received  int64
}

// wrong reports whether the bytes received so far, or all of them, contradict content-length.
func (d *dataSize) wrong(all bool) bool {
	return d.announced >= 0 && (d.received > d.announced || all && d.received != d.announced)
}

// A response is the DATA that waits for a window.
type response struct {
	buf    []byte
	unsent []byte // what is left of buf
}

// keep keeps a copy of a whole response.
func (r *response) keep(data []byte) {
	r.buf = append(r.buf[:0], data...)
	r.unsent = r.buf
}

// next returns the next n bytes.
func (r *response) next(n int) []byte {
	data := r.unsent[:n]
	r.unsent = r.unsent[n:]
	return data
}

// An ended is a stream that has ended lately. If it ended early, before the peer has sent all of it, the peer
// may have sent more before it knew.
type ended struct {
	id    uint32
	early bool
}

// streams are a connection's streams: the open ones, and what is remembered of others. They are protected by
// conn.mu.
type streams struct {
	open      []*stream // by id
	free      []*stream
	lastID    uint32 // the highest that the peer has opened
	recent    [32]ended
	recentAt  int
	idleSince time.Time // when the last open stream ended, or the connection began
}

// find returns an open stream; nil if it is not open.
func (t *streams) find(id uint32) *stream {
	for i := len(t.open) - 1; i >= 0 && t.open[i].id >= id; i-- {
		if t.open[i].id == id {
			return t.open[i]
		}
	}
	return nil
}

// add opens a stream, whose window for our DATA is sendSize.
func (t *streams) add(id uint32, sendSize int64) *stream {
	var s *stream
	if n := len(t.free); n > 0 {
		s, t.free = t.free[n-1], t.free[:n-1]
	} else {
		s = new(stream)
	}
	*s = stream{
		id: id, window: streamWindow, sendSize: sendSize,
		body: s.body[:0], response: response{buf: s.response.buf[:0]},
	}
	t.open = append(t.open, s)
	return s
}

// remove removes a stream that ends, early if the peer has not ended it.
func (t *streams) remove(s *stream, early bool, now time.Time) {
	for i, open := range t.open {
		if open == s {
			t.open = append(t.open[:i], t.open[i+1:]...)
			break
		}
	}
	t.remember(s.id, early)
	if len(t.open) == 0 {
		t.idleSince = now
	}
	if s.state == stateDeciding {
		return // its goroutine reads the body
	}
	t.recycle(s)
}

// idleUntil returns when the connection has had no open stream for d; zero if it has one, or d is 0.
func (t *streams) idleUntil(d time.Duration) time.Time {
	if d <= 0 || len(t.open) > 0 {
		return time.Time{}
	}
	return t.idleSince.Add(d)
}

// recycle keeps a stream that has ended for the next one.
func (t *streams) recycle(s *stream) {
	if cap(s.body) > maxKeptBody {
		s.body = nil
	}
	if cap(s.response.buf) > maxKeptBody {
		s.response.buf = nil
	}
	s.head.authorization, s.response.unsent = "", nil
	t.free = append(t.free, s)
}

func (t *streams) remember(id uint32, early bool) {
	t.recent[t.recentAt] = ended{id, early}
	t.recentAt = (t.recentAt + 1) % len(t.recent)
}

// recall reports whether a stream has ended lately, and whether early.
func (t *streams) recall(id uint32) (known, early bool) {
	for _, r := range t.recent {
		if r.id == id {
			return true, r.early
		}
	}
	return false, false
}

// end removes a stream. Early says that the peer has not ended it.
func (c *conn) end(s *stream, early bool) {
	c.windows.release(s)
	c.streams.remove(s, early, c.now)
}

// data handles DATA.
func (c *conn) data(f *frame) *connError {
	size := int64(len(f.payload))
	data, err := f.unpad()
	switch {
	case err != nil:
		return err
	case f.stream == 0 || f.stream > c.streams.lastID && c.ending.phase != draining:
		return &connError{codeProtocol, "DATA on an idle stream"}
	}
	if n := c.windows.giveBack(size); n > 0 {
		c.out.buf = appendWindowUpdate(c.out.buf, 0, n)
	}
	s := c.streams.find(f.stream)
	if s == nil {
		if _, early := c.streams.recall(f.stream); early || f.stream > c.streams.lastID {
			return c.counters.controlFrame()
		}
		return c.resetStream(f.stream, codeStreamClosed)
	}
	s.window -= size
	s.data.received += int64(len(data))
	last := f.flags&flagEndStream != 0
	switch {
	case s.halfClosed:
		return c.abort(s, codeStreamClosed)
	case s.window < 0:
		return c.abort(s, codeFlowControl)
	case s.data.wrong(last):
		return c.abort(s, codeProtocol)
	case last && len(s.body) == 0:
		return c.endOfRequest(s, data)
	}
	if st := checkPrefix(s, data); st != nil {
		s.halfClosed = last
		return c.fail(s, st)
	}
	if !last && c.windows.bodies+len(data) > maxBodies {
		return c.fail(s, &status{code: statusResourceExhausted, text: "too many incomplete requests"})
	}
	c.windows.hold(s, data)
	if last {
		return c.endOfRequest(s, s.body)
	}
	if len(data) == 0 {
		return c.counters.controlFrame()
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
	case flag == 1 && !s.head.compressed:
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
	c.windows.arrived(s)
	if s.data.wrong(true) {
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
	case f.stream > c.streams.lastID && c.ending.phase != draining:
		return &connError{codeProtocol, "RST_STREAM on an idle stream"}
	}
	s := c.streams.find(f.stream)
	if s == nil {
		return c.counters.controlFrame() // it crossed the response
	}
	if s.state == stateDeciding {
		s.orphan = true // which counts as open until it is decided, so that resetting gains the peer nothing
		return nil
	}
	c.end(s, false)
	return c.counters.fault()
}
