package aof

import (
	"fmt"
	"hash/crc32"
	"io"
)

// run is the writer's loop: it writes what has accumulated and sleeps when idle.
func (l *Log) run() {
	defer l.writer.done.Done()
	for {
		if l.o.Pause != nil && l.o.Policy() != Always {
			l.o.Pause()
		}
		l.round()
		l.mu.Lock()
		l.writer.idle = !l.pending()
		idle := l.writer.idle
		l.mu.Unlock()
		if !idle {
			select {
			case <-l.writer.stop:
				return
			default:
				continue
			}
		}
		select {
		case <-l.writer.wake:
		case <-l.writer.stop:
			return
		}
	}
}

// pending reports whether a round has anything to do. Requires mu.
func (l *Log) pending() bool {
	if l.health.broken != nil {
		return false
	}
	some := l.backlog.inflight != nil || len(l.backlog.queue) > 0 || l.backlog.open.len() > 0
	if some && (l.health.failed == nil || l.health.retry) {
		return true
	}
	return l.mustSync()
}

// mustSync reports whether the writer has to sync what it has written. Requires mu.
func (l *Log) mustSync() bool {
	synced := l.synced.Load()
	return l.written > synced && (l.o.Policy() == Always || l.syncs.demanded > synced)
}

// Lead writes and syncs, under Always, what was appended before it was called, unless another goroutine is
// writing. Wait says whether everything is on disk. A caller that has appended for many saves waking the
// writer and being woken by it.
func (l *Log) Lead() {
	if l.o.Policy() == Always && l.writeGate.isFree() {
		l.roundIn()
	}
}

// Flush has the writer do what a round does, and does not wait for it.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rouse()
}

// round writes what was appended before it began, so a sync follows however fast more
// arrives. Under Always it then syncs, which covers everything appended during the
// previous sync.
func (l *Log) round() {
	l.writeGate.enter()
	l.roundIn()
}

// roundIn is round, and leaves writeGate, which its caller has entered.
func (l *Log) roundIn() {
	target := l.end.Load()
	for c := l.nextChunk(target); c != nil; c = l.nextChunk(target) {
		if !l.writeChunk(c) {
			break
		}
	}
	l.mu.Lock()
	l.health.retry = false
	sync := l.mustSync()
	l.mu.Unlock()
	l.writeGate.leave()
	if sync {
		_ = l.sync(nil) // Err reports it
	}
}

// nextChunk returns the next chunk to write, or nil if there is none or writing is not
// possible. Requires writeGate.
func (l *Log) nextChunk(target int64) *chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.health.broken != nil, l.health.failed != nil && !l.health.retry, l.written >= target:
		return nil
	case l.backlog.inflight != nil:
	default:
		if len(l.backlog.queue) == 0 {
			l.closeChunk()
		}
		if len(l.backlog.queue) > 0 {
			c := l.backlog.queue[0]
			l.backlog.queue = append(l.backlog.queue[:0], l.backlog.queue[1:]...)
			l.backlog.inflight = &c
		}
	}
	return l.backlog.inflight
}

// writeChunk writes a chunk with its header and trailer to its file and reports whether
// to continue. A failed write leaves nothing of the chunk in the file, and the retry
// writes the same bytes: two halves of a batch that a power cut mixes still fit.
// Requires writeGate.
func (l *Log) writeChunk(c *chunk) bool {
	if c.epoch != l.files.cur.epoch && !l.switchFile(c.epoch) {
		return false
	}
	l.seal(c)
	f := l.files.cur
	err := f.truncateTail()
	if err == nil {
		var n int
		l.measure(l.o.Wrote, func() { n, err = f.f.Write(c.sealed) })
		if err == nil && n < len(c.sealed) {
			err = io.ErrShortWrite
		}
		if err != nil {
			f.tornTail = true
			_ = f.truncateTail() // retried before the next write
		}
	}
	text, ok := l.finishWrite(c, f, err)
	if text != "" {
		l.o.Log(true, text)
	}
	return ok
}

// measure calls fn, and took with its duration in microseconds, if there are a clock and took.
func (l *Log) measure(took func(us int64), fn func()) {
	if l.o.NowUs == nil || took == nil {
		fn()
		return
	}
	startUs := l.o.NowUs()
	fn()
	took(l.o.NowUs() - startUs)
}

// finishWrite records the outcome of a write. text is for the operator. Requires
// writeGate.
func (l *Log) finishWrite(c *chunk, f *file, err error) (text string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if l.health.failed == nil { // log it once, not every second
			text = fmt.Sprintf("Error writing to the AOF file %s: %v", f.name, err)
		}
		if l.backlog.inflight == c {
			l.health.failed, l.health.retry = err, false
			l.setFault()
		}
		return text, false
	}
	f.size += int64(len(c.sealed))
	l.written = c.end
	if l.backlog.inflight != c {
		return "", false // dropped meanwhile
	}
	l.backlog.inflight = nil
	full := l.backlog.queued.Load() > l.o.Limit
	left := l.backlog.queued.Add(-int64(c.len()))
	if full && left <= l.o.Limit || l.drains > 0 && l.backlog.held() == 0 {
		l.broadcast()
	}
	l.backlog.spares.put(c.buf)
	if l.health.failed != nil {
		l.health.failed = nil
		l.setFault()
		text = "AOF write error looks solved, the server can write again."
	}
	return text, true
}

// truncateTail removes what a failed write left after the last whole batch.
func (f *file) truncateTail() error {
	if !f.tornTail {
		return nil
	}
	if err := f.f.Truncate(f.size); err != nil {
		return err
	}
	f.tornTail = false
	return nil
}

// seal adds the header and the trailer to a chunk, once. Requires writeGate.
func (l *Log) seal(c *chunk) {
	if c.sealed != nil {
		return
	}
	l.mu.Lock()
	synced := l.files.cur.synced
	l.mu.Unlock()
	var buf [headerRoom]byte
	lead := appendHeader(buf[:0], c.nowMs, synced)
	if c.whole {
		lead = append(lead, multi...)
	}
	start := headerRoom - len(lead)
	copy(c.buf[start:], lead)
	n := len(c.buf)
	if c.whole {
		c.buf = append(c.buf, exec...)
	}
	batch := c.buf[start:]
	c.buf = appendTrailer(c.buf, len(batch), crc32.Checksum(batch, castagnoli))
	c.sealed = c.buf[start:]
	c.buf = c.buf[:n]
}

// switchFile switches to the file of an epoch. It syncs the file before first, so that
// there is never a hole on disk. Requires writeGate.
func (l *Log) switchFile(epoch int) bool {
	old := l.files.cur
	err := l.sync(func() { l.advance(epoch) })
	if err != nil {
		return false
	}
	if err := old.f.Close(); err != nil {
		l.o.Log(true, fmt.Sprintf("Closing the AOF file %s: %v", old.name, err))
	}
	return true
}

// advance makes the file of an epoch current. Requires writeGate, syncGate and mu.
func (l *Log) advance(epoch int) {
	if l.files.cur != nil {
		l.re.restSize += l.files.cur.size
	}
	l.files.advance(epoch)
}

func (f *files) advance(epoch int) {
	for len(f.nexts) > 0 && f.nexts[0].epoch <= epoch {
		if f.cur = f.nexts[0]; f.cur.epoch < epoch {
			_ = f.cur.f.Close() // switched from before anything was written to it
		}
		f.nexts = f.nexts[1:]
	}
}

// sync brings what is written to disk and, on success, calls after under mu.
func (l *Log) sync(after func()) error {
	l.syncGate.enter()
	defer l.syncGate.leave()
	l.mu.Lock()
	if err := l.health.broken; err != nil {
		l.mu.Unlock()
		return err
	}
	f, written, size := l.files.cur, l.written, l.files.cur.size
	needed := f.synced < size
	l.syncs.running = needed
	l.mu.Unlock()

	var err error
	if needed {
		l.measure(l.o.Synced, func() { err = f.f.Sync() })
	}

	if err != nil {
		l.mu.Lock()
		l.syncs.running = false
		l.abandon(err, f.epoch)
		l.mu.Unlock()
		l.o.Log(true,
			fmt.Sprintf("Fail to fsync the AOF file %s: %v; what it holds beyond byte %d cannot be relied "+
				"upon, the file has to be rewritten", f.name, err, f.synced))
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.syncs.running = false
	f.synced = size
	l.syncs.lastMs = l.ticked
	if written > l.synced.Load() {
		l.synced.Store(written)
		l.broadcast()
	}
	if after != nil {
		after()
	}
	return nil
}

// syncer syncs beside the writer, for everysec.
func (l *Log) syncer() {
	defer l.writer.done.Done()
	for {
		select {
		case <-l.writer.flush:
			_ = l.sync(nil) // Err reports it
		case <-l.writer.stop:
			return
		}
	}
}

// everyMs is the interval of everysec and of retries of a failed write.
const everyMs = 1000

// Tick advances the log's time. Call it ten times a second with the machine's time,
// which tests cannot stop. Once a second it starts a sync, unless appendfsync is no,
// and lets the writer retry a failed write. It does no I/O.
func (l *Log) Tick(nowMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if nowMs < l.ticked { // the machine's clock was set back
		l.syncs.lastMs, l.health.tried = nowMs-everyMs, nowMs-everyMs
	}
	if nowMs/everyMs != l.ticked/everyMs {
		l.backlog.spares.trim()
	}
	l.ticked = nowMs
	if l.closed || l.health.broken != nil {
		return
	}
	if l.health.failed != nil && nowMs-l.health.tried >= everyMs {
		l.health.tried, l.health.retry = nowMs, true
	}
	l.rouse()
	if l.o.Policy() == No || l.written <= l.synced.Load() || nowMs-l.syncs.lastMs < everyMs {
		return
	}
	if l.syncs.delays() {
		return
	}
	select {
	case l.writer.flush <- struct{}{}:
	default:
	}
}

// delays reports whether a sync has to wait for the one that runs, and counts it.
func (s *syncs) delays() bool {
	if s.running {
		s.delayed++
	}
	return s.running
}
