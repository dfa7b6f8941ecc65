package rls

import (
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

// A conn is a connection. Its goroutine reads and handles frames. mu is released while it reads, while anyone
// writes, and while goroutines of streams decide.
type conn struct {
	opts        *Options
	nc          net.Conn
	credentials doors.Credentials
	in          input // used by the connection's goroutine only

	mu        sync.Mutex // protects the fields below
	now       time.Time  // of the last event
	handshake handshake
	headers   headerReader
	streams   streams
	windows   windows
	counters  counters
	sessions  sessions
	out       output
	deadline  readDeadline
	ending    ending
	workers   sync.WaitGroup
	gone      chan struct{} // closed when the connection is
}

// A handshake is the beginning of a connection. It is protected by conn.mu.
type handshake struct {
	opened time.Time
	ready  bool // the preface has arrived
	first  bool // the peer's SETTINGS have arrived
}

// check requires that the first frame is SETTINGS.
func (h *handshake) check(f *frame) *connError {
	if !h.first && (f.kind != frameSettings || f.flags&flagAck != 0) {
		return &connError{codeProtocol, "the first frame is not SETTINGS"}
	}
	h.first = true
	return nil
}

func newConn(nc net.Conn, commonName string, opts *Options) *conn {
	c := &conn{
		opts: opts, nc: nc, in: input{buf: make([]byte, minReadBuffer)}, gone: make(chan struct{}),
		windows:     windows{sendSize: defaultWindow, peerSize: defaultWindow},
		credentials: doors.Credentials{CommonName: commonName},
	}
	if addr := nc.RemoteAddr(); addr != nil {
		c.credentials.Addr = addr.String()
	}
	c.out.written.L = &c.mu
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
	c.handshake.opened, c.streams.idleSince, c.counters.second = c.now, c.now, c.now
	for {
		if err := c.setReadDeadline(); err != nil {
			return err
		}
		end, cerr := c.round(c.in.read(c.nc))
		if end {
			return cerr
		}
	}
}

// round handles what a read has returned, and reports whether the connection ends.
func (c *conn) round(err error) (end bool, _ error) {
	c.mu.Lock()
	defer func() {
		if end {
			c.out.wait(0) // the connection is closed next
		}
		c.mu.Unlock()
	}()
	c.now = c.opts.Now()
	c.counters.advance(c.now)
	cerr := c.handle()
	if cerr == nil {
		cerr = c.ending.failure
	}
	if cerr == nil && !errors.Is(err, os.ErrDeadlineExceeded) && err != nil {
		c.flush()
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			err = c.out.err
		}
		return true, err
	}
	if cerr == nil && len(c.streams.open) == 0 && c.ending.leaving {
		c.flush()
		return true, c.out.err
	}
	idle := false
	if cerr == nil {
		idle, cerr = c.expire()
	}
	switch {
	case cerr != nil && !c.handshake.ready:
		c.flush() // to a peer that does not speak HTTP/2
		return true, cerr
	case cerr != nil:
		c.out.buf = appendGoAway(c.out.buf, c.streams.lastID, cerr.code, cerr.reason)
		c.flush()
		return true, cerr
	case idle:
		c.out.buf = appendGoAway(c.out.buf, c.streams.lastID, codeNo, "idle")
	}
	c.flush()
	return idle || c.out.err != nil || c.ending.phase == draining && len(c.streams.open) == 0, c.out.err
}

// handle handles the whole frames that were read.
func (c *conn) handle() *connError {
	b := c.in.bytes()
	if !c.handshake.ready {
		n, err := c.preface(b)
		if err != nil || n == 0 {
			return err
		}
		b = b[n:]
	}
	progress := false
	for c.out.err == nil {
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
		if len(c.out.buf) >= flushOutput {
			c.flush()
			c.out.wait(flushOutput) // a stream's goroutine may write
		}
	}
	c.in.keep(b, progress, c.headers.stream != 0, c.now)
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
			c.out.buf = append(c.out.buf, answerHTTP1...)
		}
		return 0, &connError{codeProtocol, "no HTTP/2 preface"}
	}
	if len(b) < len(preface) {
		return 0, nil
	}
	c.handshake.ready = true
	c.out.buf = appendFrame(c.out.buf, 3*6, frameSettings, 0, 0)
	c.out.buf = appendSetting(c.out.buf, settingMaxStreams, maxStreams)
	c.out.buf = appendSetting(c.out.buf, settingInitialWindow, streamWindow)
	c.out.buf = appendSetting(c.out.buf, settingMaxHeaderListSize, maxHeaderList)
	c.out.buf = appendWindowUpdate(c.out.buf, 0, connWindow-defaultWindow)
	return len(preface), nil
}

// frame handles a frame. What it returns ends the connection.
func (c *conn) frame(f *frame) *connError {
	if err := c.handshake.check(f); err != nil {
		return err
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
	return c.counters.controlFrame()
}
