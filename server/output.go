package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/config"
)

const (
	// queueBlock is the size of the blocks in which a long queue grows.
	queueBlock = 64 << 10
	// resumeBytes bounds what resume writes at once, while other connections wait.
	resumeBytes = 512 << 10
)

// An output sends replies without waiting for a client that does not read. What the transport does not accept
// at once is queued until it does. As with Redis, a client may send a pipeline of a million commands before
// it reads the first reply; client-output-buffer-limit bounds the queue. Replies that are made while they are
// sent have a goroutine.
//
// buf, append, flush and stream belong to whom the connection belongs to.
type output struct {
	transport transport   // set before anything is sent
	buf       []byte      // replies of the current batch
	sent      bool        // the last flush of replies sent all of them
	owner     *conn       // whose session counts what is written and what waits; nil: nobody's
	waits     atomic.Bool // something waits until the transport accepts more

	mu       sync.Mutex
	failed   bool                      // protected by mu, as are the fields below: the connection is aborted
	closed   bool                      // close was called
	limit    *config.OutputBufferLimit // nil: none
	exceeded int                       // bytes that were waiting when the limit was exceeded; 0: it was not
	queued   *outputQueue              // nil: nothing has waited yet
}

// An outputQueue is what waits. It is protected by the output's mu.
type outputQueue struct {
	head      part        // being written
	parts     []part      // to be written after head, in order
	bytes     int         // in head and parts
	reported  int         // what the session knows of the bytes that wait
	streaming bool        // a goroutine makes head
	changed   sync.Cond   // signals to that goroutine that head is written, or never will be
	lastWrite time.Time   // when something was last written that had waited
	softSince time.Time   // when the soft limit was reached; zero: it is not
	softTimer *time.Timer // checks the limit again after the soft limit's seconds
}

func (o *output) append(b []byte) { o.buf = append(o.buf, b...) }

// setLimit sets the limit, and enforces it on what is already waiting.
func (o *output) setLimit(limit *config.OutputBufferLimit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = limit
	if o.queued != nil {
		o.queued.stopTimer() // its seconds may have changed
		o.enforceLimit()
	}
}

// queue returns what waits. It requires mu.
func (o *output) queue() *outputQueue {
	if o.queued == nil {
		o.queued = &outputQueue{}
		o.queued.changed.L = &o.mu
	}
	return o.queued
}

// flush sends the collected replies. It reports whether the connection stays open:
// not if the client is gone, or leaves more unread than the limit allows.
func (o *output) flush() bool {
	if len(o.buf) == 0 {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = false
	rest := o.write(o.buf)
	if o.sent = len(rest) == 0 && !o.failed; !o.sent || o.transport.unsent() > 0 {
		o.enqueue(rest)
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > maxKeptOutput {
		o.buf = nil
	}
	return !o.failed
}

// write writes what the transport accepts of b, unless something waits already, and returns the rest. It
// requires mu.
func (o *output) write(b []byte) (rest []byte) {
	if o.failed || o.waits.Load() {
		return b
	}
	n, err := o.transport.writeSome(b)
	o.wrote(n)
	if err != nil {
		o.fail()
	}
	return b[n:]
}

// wrote counts bytes that were written.
func (o *output) wrote(n int) {
	if n > 0 && o.owner != nil {
		o.owner.session.CountWritten(n)
	}
}

// enqueue leaves a copy of b to resume. It requires mu.
func (o *output) enqueue(b []byte) {
	if o.failed {
		return
	}
	q := o.queue()
	if n := len(q.parts); len(b) > 0 && (n == 0 || len(b) > cap(q.parts[n-1].bytes)-len(q.parts[n-1].bytes)) {
		// As much room as is used already, but no more than a block: a growing slice
		// would be copied again and again.
		room := max(len(b), min(q.bytes, queueBlock))
		q.parts = append(q.parts, part{bytes: make([]byte, 0, room)})
	}
	if len(b) > 0 {
		last := &q.parts[len(q.parts)-1]
		last.bytes = append(last.bytes, b...)
		q.bytes += len(b)
	}
	o.waits.Store(true)
	o.reportQueued()
	o.enforceLimit()
}

// resume writes what waits, as far as the transport accepts it. It reports whether there is more that the
// transport might accept. Any goroutine may call it.
func (o *output) resume() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.advance()
}

// advance requires mu.
func (o *output) advance() (more bool) {
	if !o.waits.Load() {
		return false
	}
	q := o.queue()
	for written := 0; !o.failed; {
		n, err := o.transport.writeSome(q.head.bytes)
		o.wrote(n)
		written += n
		q.bytes -= n
		q.head.bytes = q.head.bytes[n:]
		if n > 0 {
			q.lastWrite = time.Now()
		}
		if err != nil {
			o.fail()
			break
		}
		if len(q.head.bytes) > 0 || o.transport.unsent() > 0 {
			break
		}
		if q.streaming {
			q.changed.Broadcast()
			break
		}
		q.head.free()
		if q.head = (part{}); len(q.parts) == 0 {
			q.parts = nil
			o.waits.Store(false)
			break
		}
		q.head, q.parts = q.parts[0], q.parts[1:]
		if q.head.stream != nil {
			o.startStream()
			break
		}
		if more = written >= resumeBytes; more {
			break
		}
	}
	o.reportQueued()
	o.enforceLimit()
	return more
}

// waiting returns the bytes that wait. It requires mu.
func (o *output) waiting() int {
	if o.failed || o.queued == nil {
		return 0
	}
	return o.queued.bytes + o.transport.unsent()
}

// reportQueued reports how the bytes that wait have changed. It requires mu.
func (o *output) reportQueued() {
	if o.owner == nil || o.queued == nil {
		return
	}
	if now := o.waiting(); now != o.queued.reported {
		o.owner.session.CountOutput(now - o.queued.reported)
		o.queued.reported = now
	}
}

// fail aborts the connection. It requires mu.
func (o *output) fail() {
	o.failed = true
	o.drop()
	o.transport.shutdown() // the reading side must notice
}

// abortOverflow aborts the connection of a client whose unread messages have
// reached waiting bytes.
func (o *output) abortOverflow(waiting int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.failed {
		o.exceeded = waiting
		o.fail()
	}
}

// enforceLimit aborts the connection if what is waiting exceeds the limit. It
// requires mu.
func (o *output) enforceLimit() {
	q := o.queue()
	waiting := int64(0)
	if o.waits.Load() {
		waiting = int64(o.waiting())
	}
	var limit config.OutputBufferLimit
	if o.limit != nil {
		limit = *o.limit
	}
	reached := func(limit int64) bool { return limit > 0 && waiting >= limit }
	if o.failed || !reached(limit.SoftBytes) {
		q.softSince = time.Time{}
		q.stopTimer()
	} else if q.softSince.IsZero() {
		q.softSince = time.Now()
	}
	softTimeout := time.Duration(min(limit.SoftSeconds, int64(maxTimeout/time.Second))) * time.Second
	switch {
	case o.failed:
	case reached(limit.HardBytes), !q.softSince.IsZero() && time.Since(q.softSince) >= softTimeout:
		o.exceeded = int(waiting)
		o.fail()
		q.stopTimer()
	case !q.softSince.IsZero() && q.softTimer == nil:
		// A client that is silent must be noticed too.
		q.softTimer = time.AfterFunc(softTimeout-time.Since(q.softSince), func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			q.softTimer = nil
			o.enforceLimit()
		})
	}
}

// maxTimeout replaces every longer timeout, so that a Duration does not overflow.
const maxTimeout = 100 * 365 * 24 * time.Hour

func (q *outputQueue) stopTimer() {
	if q.softTimer != nil {
		q.softTimer.Stop()
		q.softTimer = nil
	}
}

// lastWriteTime returns when something was last written that had waited, zero if nothing had.
func (o *output) lastWriteTime() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queued == nil {
		return time.Time{}
	}
	return o.queued.lastWrite
}

// overflow returns how many bytes were waiting when they exceeded the limit, or 0
// if they did not.
func (o *output) overflow() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.exceeded
}

// drained reports whether everything is sent, or nothing more can be.
func (o *output) drained() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.waits.Load() || o.failed
}

// close closes the connection. It may be called again.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.failed, o.closed = true, true
	o.drop()
	o.transport.close()
}

// drop forgets what waits: it is never sent. It requires mu.
func (o *output) drop() {
	if q := o.queued; q != nil {
		q.head, q.parts, q.bytes = part{}, nil, 0
		q.stopTimer()
		o.reportQueued()
		q.changed.Broadcast()
	}
}

// release frees the buffer of the replies.
func (o *output) release() {
	if len(o.buf) == 0 {
		o.buf = nil
	}
}
