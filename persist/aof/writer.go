package aof

import (
	"fmt"
	"hash/crc32"
	"io"
)

// run is the writer: it writes what has come together, and sleeps when nothing has.
func (l *Log) run() {
	defer l.done.Done()
	for {
		if l.o.Pause != nil && l.o.Policy() != Always {
			l.o.Pause()
		}
		l.round()
		l.mu.Lock()
		l.idle = !l.work()
		idle := l.idle
		l.mu.Unlock()
		if !idle {
			select {
			case <-l.stop:
				return
			default:
				continue
			}
		}
		select {
		case <-l.wake:
		case <-l.stop:
			return
		}
	}
}

// work tells whether a round would do something. Requires mu.
func (l *Log) work() bool {
	if l.broken != nil {
		return false
	}
	some := l.inflight != nil || len(l.queue) > 0 || l.open.len() > 0
	if some && (l.failed == nil || l.retry) {
		return true
	}
	return l.o.Policy() == Always && l.written > l.synced.Load()
}

// round writes what was there when it began, so that a sync comes of it however
// fast more arrives, and under Always syncs that: whoever came while the last
// sync ran is in this one.
func (l *Log) round() {
	l.writing.enter()
	target := l.end.Load()
	for c := l.take(target); c != nil; c = l.take(target) {
		if !l.put(c) {
			break
		}
	}
	l.mu.Lock()
	l.retry = false
	unsynced := l.written > l.synced.Load()
	l.mu.Unlock()
	l.writing.leave()
	if unsynced && l.o.Policy() == Always {
		_ = l.sync(nil) // Err has it
	}
}

// take is the next chunk to write, nil when there is none, or none may be
// written. Requires writing.
func (l *Log) take(target int64) *chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken != nil, l.failed != nil && !l.retry, l.written >= target:
		return nil
	case l.inflight != nil:
	case len(l.queue) > 0:
		c := l.queue[0]
		l.queue = append(l.queue[:0], l.queue[1:]...)
		l.inflight = &c
	case l.open.len() > 0:
		c := l.open
		l.open = chunk{}
		l.inflight = &c
	}
	return l.inflight
}

// put writes a chunk, with its lines, to the file it belongs to. Of a chunk
// that could not be written nothing stays in the file, and the next try writes
// the same bytes: two halves of a batch that a power cut mixes then still fit.
// It reports whether to go on. Requires writing.
func (l *Log) put(c *chunk) bool {
	if c.epoch != l.cur.epoch && !l.turn(c.epoch) {
		return false
	}
	l.seal(c)
	f := l.cur
	err := f.tidy()
	if err == nil {
		var n int
		n, err = f.f.Write(c.sealed)
		if err == nil && n < len(c.sealed) {
			err = io.ErrShortWrite
		}
		if err != nil {
			f.ragged = true
			_ = f.tidy() // or before the next try
		}
	}
	text, ok := l.wrote(c, f, err)
	if text != "" {
		l.o.Log(true, text)
	}
	return ok
}

// wrote takes down how a write ended; text is what the operator should hear.
// Requires writing.
func (l *Log) wrote(c *chunk, f *file, err error) (text string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if l.failed == nil { // not once a second
			text = fmt.Sprintf("Error writing to the AOF file %s: %v", f.name, err)
		}
		if l.inflight == c {
			l.failed, l.retry = err, false
			l.setFault()
		}
		return text, false
	}
	f.size += int64(len(c.sealed))
	l.written = c.end
	if l.inflight != c {
		return "", false // given up meanwhile
	}
	l.inflight = nil
	full := l.held.Load() > l.o.Limit
	if left := l.held.Add(-int64(c.len())); full && left <= l.o.Limit {
		l.announce()
	}
	l.recycle(c.buf)
	if l.failed != nil {
		l.failed = nil
		l.setFault()
		text = "AOF write error looks solved, the server can write again."
	}
	return text, true
}

// tidy removes what a failed write left behind the last whole batch.
func (f *file) tidy() error {
	if !f.ragged {
		return nil
	}
	if err := f.f.Truncate(f.size); err != nil {
		return err
	}
	f.ragged = false
	return nil
}

// seal puts the lines around a chunk, once. Requires writing.
func (l *Log) seal(c *chunk) {
	if c.sealed != nil {
		return
	}
	l.mu.Lock()
	synced := l.cur.synced
	l.mu.Unlock()
	var room [leadRoom]byte
	lead := appendLead(room[:0], c.nowMs, synced)
	start := leadRoom - len(lead)
	copy(c.buf[start:], lead)
	batch, n := c.buf[start:], len(c.buf)
	c.buf = appendTrail(c.buf, len(batch), crc32.Checksum(batch, castagnoli))
	c.sealed = c.buf[start:]
	c.buf = c.buf[:n]
}

// turn goes on to the file of an epoch: the one before it is on disk before this
// one gets a byte, so that what is on disk has no hole. Requires writing.
func (l *Log) turn(epoch int) bool {
	old := l.cur
	err := l.sync(func() { l.advance(epoch) })
	if err != nil {
		return false
	}
	if err := old.f.Close(); err != nil {
		l.o.Log(true, fmt.Sprintf("Closing the AOF file %s: %v", old.name, err))
	}
	return true
}

// advance makes the file of an epoch the current one. Requires writing, syncOne
// and mu.
func (l *Log) advance(epoch int) {
	if l.cur != nil {
		l.re.restSize += l.cur.size
	}
	for len(l.nexts) > 0 && l.nexts[0].epoch <= epoch {
		if l.cur = l.nexts[0]; l.cur.epoch < epoch {
			_ = l.cur.f.Close() // switched from before anything came for it
		}
		l.nexts = l.nexts[1:]
	}
}

// sync brings what is written to disk; then, when that went well, runs after
// under mu.
func (l *Log) sync(after func()) error {
	l.syncOne.enter()
	defer l.syncOne.leave()
	l.mu.Lock()
	if err := l.broken; err != nil {
		l.mu.Unlock()
		return err
	}
	f, written, size := l.cur, l.written, l.cur.size
	needed := f.synced < size
	l.syncing = needed
	l.mu.Unlock()

	var err error
	if needed {
		err = f.f.Sync()
	}

	if err != nil {
		l.mu.Lock()
		l.syncing = false
		l.breakOff(err, f.epoch)
		l.mu.Unlock()
		l.o.Log(true, fmt.Sprintf("Fail to fsync the AOF file %s: %v; what it holds beyond byte %d cannot be relied upon, the file has to be rewritten", f.name, err, f.synced))
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.syncing = false
	f.synced = size
	l.lastSync = l.ticked
	if written > l.synced.Load() {
		l.synced.Store(written)
		l.announce()
	}
	if after != nil {
		after()
	}
	return nil
}

// syncer syncs beside the writer, for everysec.
func (l *Log) syncer() {
	defer l.done.Done()
	for {
		select {
		case <-l.flush:
			_ = l.sync(nil) // Err has it
		case <-l.stop:
			return
		}
	}
}

// everyMs is how often everysec syncs, and how often a failed write is tried again.
const everyMs = 1000

// Tick is the passing of time: call it ten times a second with the machine's
// time, which no test holds and no clock adjustment stops. Once a second it has
// what was written synced, unless appendfsync is no, and has a write that
// failed tried again. It does no I/O itself.
func (l *Log) Tick(nowMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if nowMs < l.ticked { // the machine's clock was set back
		l.lastSync, l.tried = nowMs-everyMs, nowMs-everyMs
	}
	l.ticked = nowMs
	if l.closed || l.broken != nil {
		return
	}
	if l.failed != nil && nowMs-l.tried >= everyMs {
		l.tried, l.retry = nowMs, true
		l.rouse()
	}
	if l.o.Policy() == No || l.written <= l.synced.Load() || nowMs-l.lastSync < everyMs {
		return
	}
	if l.syncing {
		l.delayed++
		return
	}
	select {
	case l.flush <- struct{}{}:
	default:
	}
}
