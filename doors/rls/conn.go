package rls

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/zlimit/zlimit/doors"
)

// The bounds of a connection.
const (
	maxStreams    = 100     // open at a time, those whose peer has left while they are decided included
	streamWindow  = 1 << 17 // of DATA, more than a message
	connWindow    = 1 << 18 // of DATA
	maxBodies     = 1 << 20 // bytes of requests that have not arrived whole
	maxFaults     = 200     // streams in a second that are reset or malformed
	maxControl    = 1000    // frames in a second that are not part of calls, beside controlPerAnswer
	minReadBuffer = 1 << 12
	maxReadBuffer = 1 << 15 // more than the largest frame
	flushOutput   = 1 << 16 // bytes of output that are written before more frames are read
)

// controlPerAnswer is the number of frames that each answer allows beside maxControl: a PING and a window.
const controlPerAnswer = 2

// The time given to peers.
const (
	prefaceTimeout = 10 * time.Second
	frameTimeout   = 30 * time.Second // for a frame, or the frames of a header block
	streamTimeout  = 30 * time.Second // for a request's body, and for the window of a response
	writeTimeout   = 30 * time.Second
	drainTimeout   = 5 * time.Second // for the answer to the ping that follows the first GOAWAY
)

// The phases of the end of a connection.
type phase uint8

const (
	running   phase = iota
	announced       // GOAWAY was sent without a last stream, and a PING that tells when the peer has read it
	draining        // GOAWAY was sent with the last stream
)

// drainPing is the payload of the PING after the first GOAWAY.
var drainPing = [8]byte{'g', 'o', 'i', 'n', 'g', 'a', 'w', 'y'}

var wakeTime = time.Unix(1, 0) // a read deadline that has passed

// A conn is a connection. Its goroutine reads and handles frames. mu is released while it reads, while anyone
// writes, and while goroutines of streams decide.
type conn struct {
	opts        *Options
	nc          net.Conn
	credentials doors.Credentials

	// Used by the connection's goroutine only.
	buf          []byte
	have         int       // bytes read into buf
	partialSince time.Time // when the frame or header block under way was first seen incomplete

	mu      sync.Mutex // protects the fields below
	now     time.Time  // of the last event
	ready   bool       // the preface has arrived
	first   bool       // the peer's SETTINGS have arrived
	phase   phase
	drainBy time.Time  // when the last GOAWAY is sent without an answer to the PING
	leaving bool       // the peer has sent GOAWAY
	failure *connError // of a stream's goroutine
	readBy  time.Time  // the read deadline
	woken   bool       // the read deadline has passed on purpose
	workers sync.WaitGroup
	gone    chan struct{} // closed when the connection is

	headers   headerReader
	streams   []*stream // the open ones, by id
	free      []*stream
	lastID    uint32 // the highest that the peer has opened
	recent    [32]ended
	recentAt  int
	consumed  int64 // of the window for DATA of the peer, not yet returned
	bodies    int   // bytes of requests that have not arrived whole
	sendSize  int64 // the window for our DATA
	peerSize  int64 // the initial window of a stream for our DATA
	pending   int   // bytes of responses that wait for a window
	opened    time.Time
	faults    int // since second
	control   int // since second
	second    time.Time
	sessions  sessions
	idleSince time.Time

	out      []byte
	spare    []byte // the buffer that is not out, unless it is being written
	writing  bool
	written  sync.Cond // signalled when writing becomes false
	writeBy  time.Time
	writeErr error
	resized  bool // the first header block was sent, with the update of the table's size
}

func newConn(nc net.Conn, commonName string, opts *Options) *conn {
	c := &conn{
		opts: opts, nc: nc, buf: make([]byte, minReadBuffer), gone: make(chan struct{}),
		sendSize: defaultWindow, peerSize: defaultWindow,
		credentials: doors.Credentials{CommonName: commonName},
	}
	if addr := nc.RemoteAddr(); addr != nil {
		c.credentials.Addr = addr.String()
	}
	c.written.L = &c.mu
	c.headers.decoder = hpack.NewDecoder(4096, c.headers.field)
	c.headers.decoder.SetMaxStringLength(maxHeaderList)
	return c
}

// serve runs the connection and closes it.
func (c *conn) serve() (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.opts.Log("rls: panic serving %s: %v\n%s", c.credentials.Addr, p, debug.Stack())
			err = errors.New("rls: panic")
		}
		c.nc.Close()
		close(c.gone)
		c.workers.Wait()
		c.sessions.close()
	}()
	return c.run()
}

func (c *conn) run() error {
	c.now = c.opts.Now()
	c.opened, c.idleSince, c.second = c.now, c.now, c.now
	for {
		if err := c.setReadDeadline(); err != nil {
			return err
		}
		n, err := c.nc.Read(c.buf[c.have:])
		c.have += n
		if c.have == len(c.buf) && c.have < maxReadBuffer {
			c.buf = append(make([]byte, 0, maxReadBuffer), c.buf...)[:maxReadBuffer]
		}
		end, cerr := c.round(err)
		if end {
			return cerr
		}
	}
}

// round handles what a read has returned, and reports whether the connection ends.
func (c *conn) round(err error) (end bool, _ error) {
	c.mu.Lock()
	defer func() {
		for end && c.writing { // the connection is closed next
			c.written.Wait()
		}
		c.mu.Unlock()
	}()
	c.now = c.opts.Now()
	if c.now.Sub(c.second) >= time.Second {
		c.second, c.faults, c.control = c.now, 0, 0
	}
	cerr := c.handle()
	if cerr == nil {
		cerr = c.failure
	}
	if cerr == nil && !errors.Is(err, os.ErrDeadlineExceeded) && err != nil {
		c.flush()
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			err = c.writeErr
		}
		return true, err
	}
	if cerr == nil && len(c.streams) == 0 && c.leaving {
		c.flush()
		return true, c.writeErr
	}
	idle := false
	if cerr == nil {
		idle, cerr = c.expire()
	}
	switch {
	case cerr != nil && !c.ready:
		c.flush() // to a peer that does not speak HTTP/2
		return true, cerr
	case cerr != nil:
		c.out = appendGoAway(c.out, c.lastID, cerr.code, cerr.reason)
		c.flush()
		return true, cerr
	case idle:
		c.out = appendGoAway(c.out, c.lastID, codeNo, "idle")
	}
	c.flush()
	return idle || c.writeErr != nil || c.phase == draining && len(c.streams) == 0, c.writeErr
}

// handle handles the whole frames that were read.
func (c *conn) handle() *connError {
	b := c.buf[:c.have]
	if !c.ready {
		n, err := c.preface(b)
		if err != nil || n == 0 {
			return err
		}
		b = b[n:]
	}
	progress := false
	for c.writeErr == nil {
		f, n, err := parseFrame(b)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		b, progress = b[n:], true
		if err := c.frame(&f); err != nil {
			return err
		}
		if len(c.out) >= flushOutput {
			c.flush()
			for c.writing && len(c.out) >= flushOutput { // a stream's goroutine writes
				c.written.Wait()
			}
		}
	}
	c.have = copy(c.buf, b)
	switch {
	case len(b) == 0 && c.headers.stream == 0:
		c.partialSince = time.Time{}
	case c.partialSince.IsZero() || progress && c.headers.stream == 0:
		c.partialSince = c.now
	}
	return nil
}

// answerHTTP1 is sent to clients of HTTP/1.
const answerHTTP1 = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n" +
	"Content-Length: 43\r\n\r\nThis port speaks gRPC, which needs HTTP/2.\n"

// preface consumes the connection preface, and sends our SETTINGS after it. It returns 0 if it has not
// arrived.
func (c *conn) preface(b []byte) (int, *connError) {
	if n := min(len(b), len(preface)); string(b[:n]) != preface[:n] {
		if b[0] >= 'A' && b[0] <= 'Z' {
			c.out = append(c.out, answerHTTP1...)
		}
		return 0, &connError{codeProtocol, "no HTTP/2 preface"}
	}
	if len(b) < len(preface) {
		return 0, nil
	}
	c.ready = true
	c.out = appendFrame(c.out, 3*6, frameSettings, 0, 0)
	c.out = appendSetting(c.out, settingMaxStreams, maxStreams)
	c.out = appendSetting(c.out, settingInitialWindow, streamWindow)
	c.out = appendSetting(c.out, settingMaxHeaderListSize, maxHeaderList)
	c.out = appendWindowUpdate(c.out, 0, connWindow-defaultWindow)
	return len(preface), nil
}

// frame handles a frame. What it returns ends the connection.
func (c *conn) frame(f *frame) *connError {
	if !c.first {
		if f.kind != frameSettings || f.flags&flagAck != 0 {
			return &connError{codeProtocol, "the first frame is not SETTINGS"}
		}
		c.first = true
	}
	if c.headers.stream != 0 && (f.kind != frameContinuation || f.stream != c.headers.stream) {
		return &connError{codeProtocol, "a header block is interrupted"}
	}
	switch f.kind {
	case frameData:
		return c.data(f)
	case frameHeaders:
		return c.headersFrame(f)
	case framePriority:
		return c.priority(f)
	case frameRSTStream:
		return c.rstStream(f)
	case frameSettings:
		return c.settings(f)
	case framePushPromise:
		return &connError{codeProtocol, "PUSH_PROMISE from a client"}
	case framePing:
		return c.ping(f)
	case frameGoAway:
		return c.goAway(f)
	case frameWindowUpdate:
		return c.windowUpdate(f)
	case frameContinuation:
		return c.continuation(f)
	}
	return c.controlFrame()
}

// controlFrame counts a frame that asks for no decision.
func (c *conn) controlFrame() *connError {
	if c.control++; c.control > maxControl {
		return &connError{codeEnhanceYourCalm, "too many frames without requests"}
	}
	return nil
}

// fault counts a stream that was not a request, or is not waited for.
func (c *conn) fault() *connError {
	if c.faults++; c.faults > maxFaults {
		return &connError{codeEnhanceYourCalm, "too many streams reset or malformed"}
	}
	return nil
}

// resetStream sends RST_STREAM for a fault of the peer.
func (c *conn) resetStream(id uint32, code errorCode) *connError {
	c.out = appendRSTStream(c.out, id, code)
	return c.fault()
}

func (c *conn) priority(f *frame) *connError {
	switch {
	case f.stream == 0:
		return &connError{codeProtocol, "PRIORITY on stream 0"}
	case len(f.payload) != 5:
		if s := c.stream(f.stream); s != nil {
			c.cancel(s, true)
		}
		return c.resetStream(f.stream, codeFrameSize)
	}
	return c.controlFrame()
}

func (c *conn) ping(f *frame) *connError {
	switch {
	case f.stream != 0:
		return &connError{codeProtocol, "PING on a stream"}
	case len(f.payload) != 8:
		return &connError{codeFrameSize, "PING is not of 8 bytes"}
	case f.flags&flagAck == 0:
		c.out = append(appendFrame(c.out, 8, framePing, flagAck, 0), f.payload...)
	case c.phase == announced && string(f.payload) == string(drainPing[:]):
		c.lastGoAway()
	}
	return c.controlFrame()
}

func (c *conn) goAway(f *frame) *connError {
	switch {
	case f.stream != 0:
		return &connError{codeProtocol, "GOAWAY on a stream"}
	case len(f.payload) < 8:
		return &connError{codeFrameSize, "GOAWAY too short"}
	}
	c.leaving = true
	return c.controlFrame()
}

func (c *conn) settings(f *frame) *connError {
	switch {
	case f.stream != 0:
		return &connError{codeProtocol, "SETTINGS on a stream"}
	case f.flags&flagAck != 0 && len(f.payload) != 0:
		return &connError{codeFrameSize, "acknowledgment of SETTINGS with a payload"}
	case f.flags&flagAck != 0:
		return c.controlFrame()
	case len(f.payload)%6 != 0:
		return &connError{codeFrameSize, "SETTINGS of a wrong size"}
	}
	for p := f.payload; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out = appendFrame(c.out, 0, frameSettings, flagAck, 0)
	c.push()
	return c.controlFrame()
}

// setting applies a setting of the peer. Its frame size is not used: no frame sent exceeds the least, 16,384.
func (c *conn) setting(id uint16, v uint32) *connError {
	switch id {
	case settingEnablePush:
		if v > 1 {
			return &connError{codeProtocol, "SETTINGS_ENABLE_PUSH is neither 0 nor 1"}
		}
	case settingMaxFrameSize:
		if v < 1<<14 || v > 1<<24-1 {
			return &connError{codeProtocol, "SETTINGS_MAX_FRAME_SIZE out of range"}
		}
	case settingInitialWindow:
		if v > maxWindow {
			return &connError{codeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE out of range"}
		}
		change := int64(v) - c.peerSize
		c.peerSize = int64(v)
		for _, s := range c.streams {
			if s.sendSize += change; s.sendSize > maxWindow {
				return &connError{codeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE overflows a stream's window"}
			}
		}
	}
	return nil
}
