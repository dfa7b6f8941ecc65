package aof

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/persist/disk"
)

// chunkSize is the size at which a chunk is closed. It bounds a write, and the bytes
// copied under a lock when a buffer grows.
const chunkSize = 64 << 10

// A Log is an append-only log open for writing. All methods may be called concurrently.
// Switch requires all shards locked.
//
// A position counts the bytes appended since the Log was opened, over all files and
// without the lines that the writer adds. Positions follow the order of Append: waiting
// for one waits for everything before it.
type Log struct {
	o Options

	end    atomic.Int64 // position after the last append; changes under mu
	synced atomic.Int64 // position up to which everything is on disk; changes under mu

	mu         sync.Mutex // protects the fields below; held for memory only
	backlog    backlog
	written    int64 // position up to which everything is in the files
	health     health
	syncs      syncs
	drains     int           // calls of Drain under way
	changed    chan struct{} // closed and replaced when synced or a fault changes, or space frees up
	closed     bool
	terminated bool  // Close is done: nothing is synced any more
	ticked     int64 // time of the last Tick
	files      files
	re         rewrite
	writer     writer

	writeGate gate // serializes writes to files.cur; before syncGate and mu
	syncGate  gate // serializes syncs; before mu
}

// A backlog is what waits in memory for the writer. The Log's mu protects it.
type backlog struct {
	open     chunk        // filled by Append
	queue    []chunk      // full chunks, oldest first
	inflight *chunk       // the chunk being written, or that failed to be
	queued   atomic.Int64 // bytes, without the open chunk; changes under mu
	selected int          // the selected database of a reader of the file
	closeAt  int          // the size at which a chunk is closed
	nowMs    int64        // the latest instant appended
	spares   spares
}

// health is what is wrong with the files. The Log's mu protects it.
type health struct {
	fault    atomic.Pointer[error] // why writes should be refused; changes under mu
	failed   error                 // a write failed; Tick retries it
	broken   error                 // a sync failed: nothing is written until a rewrite is done
	brokenAt int                   // the epoch of the file whose sync failed
	retry    bool                  // Tick allows another attempt
	tried    int64                 // Tick of the last retry
}

// syncs is what is known of syncs. The Log's mu protects it.
type syncs struct {
	demanded int64 // position up to which somebody waits for a sync
	running  bool
	lastMs   int64 // Tick of the last one
	delayed  int64 // those that were due while another was running
}

// files are the files that are written to. The Log's mu protects them.
type files struct {
	cur   *file   // the one written to; nil before the first rewrite of a log begun at run time
	nexts []*file // those switched to that the writer has not reached
	epoch int     // of the one that Append's bytes go to
}

// A writer is the two goroutines that write and sync.
type writer struct {
	idle  bool          // the writer sleeps and must be woken; the Log's mu protects it
	wake  chan struct{} // wakes the writer; sent to by whoever clears idle
	flush chan struct{} // requests a sync
	stop  chan struct{}
	done  sync.WaitGroup
}

// chunk holds groups that are written at once. Its first headerRoom bytes are reserved
// for the header.
type chunk struct {
	buf    []byte
	end    int64 // position after the chunk
	nowMs  int64
	epoch  int
	whole  bool   // no reader may run a part of it
	sealed []byte // with header and trailer, as written
}

func (c *chunk) len() int { return max(0, len(c.buf)-headerRoom) }

// file is an incremental file. size is the length of its whole batches; it changes
// under writeGate and mu.
type file struct {
	f        disk.File
	name     string
	epoch    int
	size     int64
	synced   int64 // length known to be on disk
	tornTail bool  // a failed write may have left bytes after size
}

// gate is a lock on which a goroutine may wait in a synctest bubble. Waiting on a Mutex
// would stop the bubble's clock.
type gate chan struct{}

func newGate() gate   { return make(gate, 1) }
func (g gate) enter() { g <- struct{}{} }
func (g gate) leave() { <-g }

// isFree enters the gate if nobody is in it, and reports whether it has.
func (g gate) isFree() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// Append adds a group to the log and returns the position after it. nowMs is the
// instant of the group. Append only copies to memory: call it under the locks of the
// group's keys. Under Always whoever waits for it has it written, Lead does, or Tick.
func (l *Log) Append(g Group, nowMs int64) (end int64) {
	l.mu.Lock()
	c := &l.backlog.open
	if c.buf == nil {
		c.buf = l.backlog.spares.take()
	}
	before := len(c.buf)
	var whole bool
	c.buf, l.backlog.selected, whole = g.AppendBareTo(c.buf, l.backlog.selected)
	if whole {
		c.whole = true
	}
	l.backlog.nowMs = max(l.backlog.nowMs, nowMs)
	c.nowMs = l.backlog.nowMs
	end = l.end.Load() + int64(len(c.buf)-before)
	l.end.Store(end)
	c.end, c.epoch = end, l.files.epoch
	if l.closed || l.abandoned() {
		c.buf = c.buf[:before]
	} else {
		closes := len(c.buf) >= l.backlog.closeAt
		if closes {
			l.closeChunk()
		}
		if closes || l.o.Policy() != Always {
			l.writer.rouse()
		}
	}
	l.mu.Unlock()
	return end
}

// rouse wakes the writer if it has something to do. Requires mu.
func (l *Log) rouse() {
	if l.pending() {
		l.writer.rouse()
	}
}

// rouse wakes the writer if it sleeps. Requires mu.
func (w *writer) rouse() {
	if w.idle {
		w.idle = false
		w.wake <- struct{}{} // never blocks: one send for each time idle was set
	}
}

// abandoned reports whether appends would go to an abandoned file; the rewrite that
// replaces the file will include them. Requires mu.
func (l *Log) abandoned() bool { return l.health.broken != nil && l.files.epoch <= l.health.brokenAt }

// closeChunk queues the open chunk. Requires mu.
func (l *Log) closeChunk() {
	b := &l.backlog
	n := b.open.len()
	if n == 0 {
		return
	}
	b.queue = append(b.queue, b.open)
	b.open = chunk{}
	if b.queued.Add(int64(n)) > 4*l.o.Limit {
		l.abandon(errBehind, l.files.epoch)
	}
}

// spares are buffers for reuse. The Log's mu protects them.
type spares struct {
	free   [][]byte
	unused int // how many of free were there all the time since trim
}

// take returns a buffer with space for a header.
func (s *spares) take() []byte {
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		s.unused = min(s.unused, n-1)
		return b[:headerRoom]
	}
	return make([]byte, headerRoom, chunkSize+chunkSize/4)
}

// maxSpare is how many buffers are kept for reuse: what busy clients append while the writer waits for a
// processor.
const maxSpare = 32

// put keeps a buffer for reuse unless a large group has grown it.
func (s *spares) put(b []byte) {
	if len(s.free) < maxSpare && cap(b) <= 2*chunkSize {
		s.free = append(s.free, b)
	}
}

// trim releases the buffers that were not needed since its last call.
func (s *spares) trim() {
	kept := len(s.free) - s.unused
	clear(s.free[kept:])
	s.free, s.unused = s.free[:kept], kept
}

// End returns the position after the last append. Read under the locks of some keys, it
// covers everything in those keys.
func (l *Log) End() int64 { return l.end.Load() }

// Synced returns the position up to which everything is on disk.
func (l *Log) Synced() int64 { return l.synced.Load() }

// Err returns why writes should be refused (MISCONF): a failed write or sync that has
// not been repaired. It returns nil if all is well, and costs one load.
func (l *Log) Err() error {
	if e := l.health.fault.Load(); e != nil {
		return *e
	}
	return nil
}

// Wait blocks until everything before pos is on disk. It fails at once when that can no
// longer be guaranteed; the caller must then not confirm the write to its client. A log
// begun at run time guarantees nothing before its first rewrite, so Wait returns nil
// until then.
func (l *Log) Wait(pos int64, cancel <-chan struct{}) error {
	if l.synced.Load() >= pos {
		return nil
	}
	return l.await(cancel, func() (done bool, err error) {
		switch err := l.Err(); {
		case l.synced.Load() >= pos || l.health.starting():
			return true, nil
		case err != nil:
			return true, err
		case l.terminated:
			return true, ErrClosed
		}
		l.syncs.demanded = max(l.syncs.demanded, pos) // whatever appendfsync is by then
		return false, nil
	})
}

// WaitDurable is like Wait but blocks through faults until the log works again, and
// until the first rewrite of a log begun at run time. It fails if the log is closed
// first.
func (l *Log) WaitDurable(pos int64, cancel <-chan struct{}) error {
	return l.await(cancel, func() (done bool, err error) {
		switch {
		case l.durable(pos):
			return true, nil
		case l.terminated:
			return true, ErrClosed
		}
		return false, nil
	})
}

// Durable reports whether everything before pos is on disk.
func (l *Log) Durable(pos int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable(pos)
}

// durable is Durable. Requires mu.
func (l *Log) durable(pos int64) bool { return !l.health.starting() && l.synced.Load() >= pos }

// WaitForSpace blocks while more than Options.Limit bytes wait to be written, so that a
// slow disk slows the traffic down. Call it before taking locks. It returns Err if the
// log fails.
func (l *Log) WaitForSpace(cancel <-chan struct{}) error {
	if l.HasSpace() {
		return l.Err()
	}
	return l.await(cancel, func() (done bool, err error) {
		switch err := l.Err(); {
		case err != nil || l.backlog.queued.Load() <= l.o.Limit:
			return true, err
		case l.closed:
			return true, ErrClosed
		}
		return false, nil
	})
}

// Drain blocks until everything that was appended has been written to the file, though
// perhaps not synced. Nothing may be appended meanwhile. It returns Err if the log fails.
func (l *Log) Drain() error {
	l.mu.Lock()
	l.drains++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.drains--
		l.mu.Unlock()
	}()
	return l.await(nil, func() (done bool, err error) {
		switch err := l.Err(); {
		case err != nil || l.backlog.held() == 0:
			return true, err
		case l.closed || l.health.starting():
			return true, ErrClosed
		}
		return false, nil
	})
}

// held returns the bytes in memory.
func (b *backlog) held() int64 { return b.queued.Load() + int64(b.open.len()) }

// HasSpace reports whether WaitForSpace would return at once.
func (l *Log) HasSpace() bool { return l.backlog.queued.Load() <= l.o.Limit }

// await calls check under mu, now and after each change, until it reports true, and
// returns its error.
func (l *Log) await(cancel <-chan struct{}, check func() (done bool, err error)) error {
	for {
		l.mu.Lock()
		changed := l.changed
		done, err := check()
		if !done {
			l.rouse()
		}
		l.mu.Unlock()
		if done {
			return err
		}
		select {
		case <-changed:
		case <-cancel:
			return ErrWaitCanceled
		}
	}
}

// broadcast wakes all waiters. Requires mu.
func (l *Log) broadcast() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// setFault derives the fault from what has failed. Requires mu.
func (l *Log) setFault() {
	l.health.setFault()
	l.broadcast()
}

func (h *health) setFault() {
	err := h.failed
	if h.broken != nil {
		err = h.broken
	}
	if err == nil || h.starting() {
		h.fault.Store(nil)
	} else {
		h.fault.Store(&err)
	}
}

// Starting reports whether the log was begun at run time and has not had its first
// rewrite, without which its files hold nothing.
func (l *Log) Starting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.health.starting()
}

// starting is Starting.
func (h *health) starting() bool { return errors.Is(h.broken, errStarting) }

// abandon gives up the file of an epoch: pending data for it is dropped, and nothing is
// written until a rewrite has replaced it with a base and a new file. Requires mu.
func (l *Log) abandon(why error, epoch int) {
	if l.health.broken == nil {
		l.health.broken = why
	}
	l.health.brokenAt = max(l.health.brokenAt, epoch)
	l.backlog.drop(epoch)
	l.setFault()
}

// drop discards the data for the files up to an epoch.
func (b *backlog) drop(epoch int) {
	kept := b.queue[:0]
	var held int64
	for _, c := range b.queue {
		if c.epoch > epoch {
			kept = append(kept, c)
			held += int64(c.len())
		}
	}
	clear(b.queue[len(kept):])
	b.queue = kept
	if b.inflight != nil && b.inflight.epoch <= epoch {
		b.inflight = nil
	} else if b.inflight != nil {
		held += int64(b.inflight.len())
	}
	if b.open.epoch <= epoch {
		b.open = chunk{}
	}
	b.queued.Store(held)
}
