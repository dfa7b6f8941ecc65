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

	mu            sync.Mutex
	bound         outputBound // protected by mu, as are the fields below
	head          part        // being written
	queue         []part      // to be written after head, in order
	queuedBytes   int         // in head and queue
	reportedBytes int         // what the session knows of the bytes that wait
	streaming     bool        // a goroutine makes head
	changed       sync.Cond   // signals to that goroutine that head is written, or never will be
	failed        bool        // the connection is aborted
	closed        bool        // close was called
	lastWrite     time.Time   // when something was last written that had waited
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
	if n := len(o.queue); len(b) > 0 && (n == 0 || len(b) > cap(o.queue[n-1].bytes)-len(o.queue[n-1].bytes)) {
		// As much room as is used already, but no more than a block: a growing slice
		// would be copied again and again.
		room := max(len(b), min(o.queuedBytes, queueBlock))
		o.queue = append(o.queue, part{bytes: make([]byte, 0, room)})
	}
	if len(b) > 0 {
		last := &o.queue[len(o.queue)-1]
		last.bytes = append(last.bytes, b...)
		o.queuedBytes += len(b)
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
	for written := 0; !o.failed; {
		n, err := o.transport.writeSome(o.head.bytes)
		o.wrote(n)
		written += n
		o.queuedBytes -= n
		o.head.bytes = o.head.bytes[n:]
		if n > 0 {
			o.lastWrite = time.Now()
		}
		if err != nil {
			o.fail()
			break
		}
		if len(o.head.bytes) > 0 || o.transport.unsent() > 0 {
			break
		}
		if o.streaming {
			o.changed.Broadcast()
			break
		}
		o.head.free()
		if o.head = (part{}); len(o.queue) == 0 {
			o.queue = nil
			o.waits.Store(false)
			break
		}
		o.head, o.queue = o.queue[0], o.queue[1:]
		if o.head.stream != nil {
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
	if o.failed {
		return 0
	}
	return o.queuedBytes + o.transport.unsent()
}

// reportQueued reports how the bytes that wait have changed. It requires mu.
func (o *output) reportQueued() {
	if o.owner == nil {
		return
	}
	if now := o.waiting(); now != o.reportedBytes {
		o.owner.session.CountOutput(now - o.reportedBytes)
		o.reportedBytes = now
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
		o.bound.exceeded = waiting
		o.fail()
	}
}

// enforceLimit aborts the connection if what is waiting exceeds the limit. It
// requires mu.
func (o *output) enforceLimit() {
	b := &o.bound
	waiting := int64(0)
	if o.waits.Load() {
		waiting = int64(o.waiting())
	}
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

// lastWriteTime returns when something was last written that had waited.
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
	o.bound.stopTimer()
	o.drop()
	o.transport.close()
}

// drop forgets what waits: it is never sent. It requires mu.
func (o *output) drop() {
	o.head, o.queue, o.queuedBytes = part{}, nil, 0
	o.reportQueued()
	o.changed.Broadcast()
}

// release frees the buffer of the replies.
func (o *output) release() {
	if len(o.buf) == 0 {
		o.buf = nil
	}
}
