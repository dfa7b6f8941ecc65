package server

import (
	"net"
	"sync"
	"time"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/resp"
)

// maxPumpWrite is the most that the pump writes at once, so that progress of a slow
// client is noticed.
const maxPumpWrite = 64 << 10

// queueBlock is the size of the blocks in which a long queue grows.
const queueBlock = 64 << 10

// An output sends replies without blocking the connection on a client that does not
// read. What the socket does not accept at once is queued for another goroutine,
// the pump. As with Redis, a client may send a pipeline of a million commands
// before it reads the first reply; client-output-buffer-limit bounds the queue. The
// pump also makes replies that are streamed.
//
// buf, append, flush and stream belong to the connection's goroutine.
type output struct {
	nc     net.Conn
	socket *socket  // nil if every write to nc may block
	tls    *tlsConn // nc, if it is over TLS
	buf    []byte   // replies of the current batch
	sent   bool     // the last flush of replies sent all of them
	owner  *conn    // whose session counts what is written and what waits; nil: nobody's

	mu            sync.Mutex
	bound         outputBound   // protected by mu, as are the fields below
	queue         []part        // to be written after writingBytes, in order
	queuedBytes   int           // in queue
	writingBytes  int           // bytes that the pump is writing
	reportedBytes int           // the sum of both, as the session knows it
	pumping       bool          // the pump is running
	pumpDone      *sync.Cond    // signalled when pumping ends
	failed        bool          // the connection is aborted
	lastWrite     time.Time     // when the pump last wrote something
	writeTimeout  time.Duration // of each of the pump's writes; 0: none
}

// An outputBound is client-output-buffer-limit, and what has become of it.
type outputBound struct {
	limit     config.OutputBufferLimit
	softSince time.Time   // when the soft limit was reached; zero: it is not
	softTimer *time.Timer // checks the limit again after the soft limit's seconds
	exceeded  int         // bytes that were waiting when a limit was exceeded; 0: none was
}

func (o *output) append(b []byte) { o.buf = append(o.buf, b...) }

// setLimit sets the limit, and enforces it on what is already waiting.
func (o *output) setLimit(limit config.OutputBufferLimit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bound.limit = limit
	o.bound.stopTimer() // its seconds may have changed
	o.enforceLimit()
}

// flush sends the collected replies. It reports whether the connection stays open:
// not if the client is gone, or leaves more unread than the limit allows.
func (o *output) flush() bool {
	if len(o.buf) == 0 {
		return true
	}
	o.sent = false
	durableErr := o.waitDurable()
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.buf
	if durableErr != nil {
		o.fail()
	}
	if !o.pumping && !o.failed {
		n, err := o.writeNow(rest)
		o.wrote(n)
		rest = rest[n:]
		o.failed = err != nil
		o.sent = len(rest) == 0 && !o.failed
	}
	if (len(rest) > 0 || o.tls != nil && o.tls.unsent() > 0) && !o.failed {
		o.enqueue(rest)
		o.enforceLimit()
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > maxKeptOutput {
		o.buf = nil
	}
	return !o.failed
}

// waitDurable blocks until replies may be sent. After an error they must not be.
func (o *output) waitDurable() error {
	if o.owner == nil {
		return nil
	}
	return o.owner.session.WaitDurable()
}

// wrote counts bytes that were written.
func (o *output) wrote(n int) {
	if n > 0 && o.owner != nil {
		o.owner.session.CountWritten(n)
	}
}

// writeNow writes what the connection accepts without blocking.
func (o *output) writeNow(b []byte) (n int, err error) {
	if p, ok := o.nc.(nonBlocking); ok {
		return p.WriteSome(b)
	}
	if o.socket == nil {
		return 0, nil
	}
	return o.socket.writeSome(b)
}

// A nonBlocking is a connection without a socket that can itself read and write
// without blocking, such as one of package pipe.
type nonBlocking interface {
	ReadSome(b []byte) (int, error)
	WriteSome(b []byte) (int, error)
}

// enqueue leaves a copy of b to the pump. It requires that mu is held.
func (o *output) enqueue(b []byte) {
	if n := len(o.queue); n == 0 || len(b) > cap(o.queue[n-1].bytes)-len(o.queue[n-1].bytes) {
		// As much room as is used already, but no more than a block: a growing slice
		// would be copied again and again.
		room := max(len(b), min(o.queuedBytes, queueBlock))
		o.queue = append(o.queue, part{bytes: make([]byte, 0, room)})
	}
	last := &o.queue[len(o.queue)-1]
	last.bytes = append(last.bytes, b...)
	o.queuedBytes += len(b)
	o.reportQueued()
	o.startPump()
}

// startPump requires that mu is held.
func (o *output) startPump() {
	if o.pumping {
		return
	}
	o.pumping = true
	if o.pumpDone == nil {
		o.pumpDone = sync.NewCond(&o.mu)
	}
	go o.pump()
}

// pump writes the queue, however long the client takes.
func (o *output) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tls != nil {
		o.drainTLS()
	}
	for len(o.queue) > 0 && !o.failed {
		next := o.queue[0]
		o.queue = o.queue[1:]
		if next.stream != nil {
			o.sendStream(next.stream)
			continue
		}
		o.queuedBytes -= len(next.bytes)
		o.send(next.bytes)
		if next.block != nil {
			resp.FreeBlock(next.block)
		}
	}
	o.queue, o.queuedBytes, o.writingBytes, o.pumping = nil, 0, 0, false
	o.reportQueued()
	o.pumpDone.Broadcast()
}

// send writes b in small portions. Only the pump calls it. It requires that mu is
// held, and releases it while it blocks.
func (o *output) send(b []byte) {
	o.writingBytes = len(b)
	for len(b) > 0 && !o.failed {
		o.setWriteDeadline()
		o.mu.Unlock()
		n, err := o.nc.Write(b[:min(len(b), maxPumpWrite)])
		o.wrote(n)
		o.mu.Lock()
		b = b[n:]
		o.writingBytes = len(b)
		o.reportQueued()
		o.lastWrite = time.Now()
		if err != nil {
			o.fail()
		}
		o.enforceLimit()
	}
}

// reportQueued reports how the bytes that wait have changed. It requires that mu is
// held.
func (o *output) reportQueued() {
	if now := o.queuedBytes + o.writingBytes; now != o.reportedBytes && o.owner != nil {
		o.owner.session.CountOutput(now - o.reportedBytes)
		o.reportedBytes = now
	}
}

// fail aborts the connection. It requires that mu is held.
func (o *output) fail() {
	o.failed = true
	o.abort() // the reading side must notice
}

// abort ends the connection for its readers and writers. Any goroutine may call it.
// The connection's goroutine closes it.
func (o *output) abort() {
	if o.socket != nil {
		o.socket.shutdown()
	} else {
		o.nc.Close()
	}
}

// abortOverflow aborts the connection of a client whose unread messages have
// reached waiting bytes.
func (o *output) abortOverflow(waiting int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.failed {
		o.bound.exceeded = waiting
		o.fail()
	}
}

// enforceLimit aborts the connection if what is waiting exceeds the limit. It
// requires that mu is held.
func (o *output) enforceLimit() {
	b := &o.bound
	waiting := int64(o.queuedBytes + o.writingBytes)
	reached := func(limit int64) bool { return limit > 0 && waiting >= limit }
	if o.failed || !reached(b.limit.SoftBytes) {
		b.softSince = time.Time{}
		b.stopTimer()
	} else if b.softSince.IsZero() {
		b.softSince = time.Now()
	}
	softTimeout := time.Duration(min(b.limit.SoftSeconds, int64(maxTimeout/time.Second))) * time.Second
	switch {
	case o.failed:
	case reached(b.limit.HardBytes), !b.softSince.IsZero() && time.Since(b.softSince) >= softTimeout:
		b.exceeded = int(waiting)
		o.fail()
		b.stopTimer()
	case !b.softSince.IsZero() && b.softTimer == nil:
		// A client that is silent must be noticed too.
		b.softTimer = time.AfterFunc(softTimeout-time.Since(b.softSince), func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			b.softTimer = nil
			o.enforceLimit()
		})
	}
}

// maxTimeout replaces every longer timeout, so that a Duration does not overflow.
const maxTimeout = 100 * 365 * 24 * time.Hour

func (b *outputBound) stopTimer() {
	if b.softTimer != nil {
		b.softTimer.Stop()
		b.softTimer = nil
	}
}

// lastWriteTime returns when the pump last wrote something.
func (o *output) lastWriteTime() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lastWrite
}

// overflow returns how many bytes were waiting when they exceeded the limit, or 0
// if they did not.
func (o *output) overflow() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bound.exceeded
}

// setWriteDeadline renews the deadline of the next write. It requires that mu is
// held.
func (o *output) setWriteDeadline() {
	if o.writeTimeout > 0 {
		o.nc.SetWriteDeadline(time.Now().Add(o.writeTimeout))
	}
}

// flushAll sends the collected replies and waits until everything is written, as
// long as each write makes progress within timeout. It reports whether it was.
func (o *output) flushAll(timeout time.Duration) bool {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeTimeout = timeout
	o.setWriteDeadline() // also for the current write
	for o.pumping {
		o.pumpDone.Wait()
	}
	return !o.failed
}

// close closes the connection and waits for the pump to end.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true
	o.nc.Close()
	o.bound.stopTimer()
	for o.pumping {
		o.pumpDone.Wait()
	}
}
