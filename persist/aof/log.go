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

	end      atomic.Int64          // position after the last append; changes under mu
	synced   atomic.Int64          // position up to which everything is on disk; changes under mu
	buffered atomic.Int64          // bytes in memory, without the open chunk; changes under mu
	fault    atomic.Pointer[error] // why writes should be refused; changes under mu

	mu         sync.Mutex    // protects the fields below; held for memory only
	open       chunk         // filled by Append
	queue      []chunk       // full chunks, oldest first
	inflight   *chunk        // the chunk being written, or that failed to be
	spare      [][]byte      // buffers for reuse
	unused     int           // how many of spare were there all the time since trimSpare
	selected   int           // the selected database of a reader of the file
	closeAt    int           // the size at which a chunk is closed
	nowMs      int64         // the latest instant appended
	epoch      int           // of the file that Append's bytes go to
	written    int64         // position up to which everything is in the files
	demanded   int64         // position up to which somebody waits for a sync
	groups     groupCounts   // how many groups there are
	syncUs     int64         // how long the last sync took, in microseconds
	drains     int           // calls of Drain under way
	changed    chan struct{} // closed and replaced when synced or a fault changes, or space frees up
	idle       bool          // the writer sleeps and must be woken
	failed     error         // a write failed; Tick retries it
	broken     error         // a sync failed: nothing is written until a rewrite is done
	brokenAt   int           // the epoch of the file whose sync failed
	retry      bool          // Tick allows another attempt
	syncing    bool
	closed     bool
	terminated bool    // Close is done: nothing is synced any more
	cur        *file   // the file written to; nil before the first rewrite of a log begun at run time
	nexts      []*file // files switched to that the writer has not reached
	ticked     int64   // time of the last Tick
	tried      int64   // Tick of the last retry
	lastSync   int64   // Tick of the last sync
	delayed    int64   // syncs due while another was running
	re         rewrite

	writeGate gate // serializes writes to cur; before syncGate and mu
	syncGate  gate // serializes syncs; before mu

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
	groups int64  // how many were appended up to its end
	whole  bool   // no reader may run a part of it
	sealed []byte // with header and trailer, as written
}

func (c *chunk) len() int { return max(0, len(c.buf)-headerRoom) }

// groupCounts counts groups since the Log was opened.
type groupCounts struct {
	appended, written, synced int64
	awaited                   int64 // how many the last sync covered, and were appended while it ran
}

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

// Append adds a group to the log and returns the position after it. nowMs is the
// instant of the group. Append only copies to memory: call it under the locks of the
// group's keys.
func (l *Log) Append(g Group, nowMs int64) (end int64) {
	l.mu.Lock()
	c := &l.open
	if c.buf == nil {
		c.buf = l.buffer()
	}
	before := len(c.buf)
	var whole bool
	c.buf, l.selected, whole = g.AppendBareTo(c.buf, l.selected)
	if whole {
		c.whole = true
	}
	l.nowMs = max(l.nowMs, nowMs)
	c.nowMs = l.nowMs
	end = l.end.Load() + int64(len(c.buf)-before)
	l.end.Store(end)
	l.groups.appended++
	c.end, c.epoch, c.groups = end, l.epoch, l.groups.appended
	if l.closed || l.broken != nil && l.abandoned() {
		c.buf = c.buf[:before]
	} else {
		if len(c.buf) >= l.closeAt {
			l.closeChunk()
		}
		l.wakeWriter()
	}
	l.mu.Unlock()
	return end
}

// wakeWriter wakes the writer if it sleeps. Requires mu.
func (l *Log) wakeWriter() {
	if l.idle {
		l.idle = false
		l.wake <- struct{}{} // never blocks: one send for each time idle was set
	}
}

// abandoned reports whether appends would go to an abandoned file; the rewrite that
// replaces the file will include them. Requires mu.
func (l *Log) abandoned() bool { return l.broken != nil && l.epoch <= l.brokenAt }

// closeChunk queues the open chunk. Requires mu.
func (l *Log) closeChunk() {
	n := l.open.len()
	if n == 0 {
		return
	}
	l.queue = append(l.queue, l.open)
	l.open = chunk{}
	if l.buffered.Add(int64(n)) > 4*l.o.Limit {
		l.abandon(errBehind, l.epoch)
	}
}

// buffer returns a buffer with space for a header. Requires mu.
func (l *Log) buffer() []byte {
	if n := len(l.spare); n > 0 {
		b := l.spare[n-1]
		l.spare = l.spare[:n-1]
		l.unused = min(l.unused, n-1)
		return b[:headerRoom]
	}
	return make([]byte, headerRoom, chunkSize+chunkSize/4)
}

// maxSpare is how many buffers are kept for reuse: what busy clients append while the writer waits for a
// processor.
const maxSpare = 32

// recycle keeps a buffer for reuse unless a large group has grown it. Requires mu.
func (l *Log) recycle(b []byte) {
	if len(l.spare) < maxSpare && cap(b) <= 2*chunkSize {
		l.spare = append(l.spare, b)
	}
}

// trimSpare releases the buffers that were not needed since its last call. Requires mu.
func (l *Log) trimSpare() {
	kept := len(l.spare) - l.unused
	clear(l.spare[kept:])
	l.spare, l.unused = l.spare[:kept], kept
}

// End returns the position after the last append. Read under the locks of some keys, it
// covers everything in those keys.
func (l *Log) End() int64 { return l.end.Load() }

// Synced returns the position up to which everything is on disk.
func (l *Log) Synced() int64 { return l.synced.Load() }

// Err returns why writes should be refused (MISCONF): a failed write or sync that has
// not been repaired. It returns nil if all is well, and costs one load.
func (l *Log) Err() error {
	if e := l.fault.Load(); e != nil {
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
		case l.synced.Load() >= pos || l.starting():
			return true, nil
		case err != nil:
			return true, err
		case l.terminated:
			return true, ErrClosed
		}
		l.demand(pos)
		return false, nil
	})
}

// demand has the writer sync what is before pos, whatever appendfsync is by then: somebody waits who began
// under Always, and a switch must not leave him without an end. Requires mu.
func (l *Log) demand(pos int64) {
	if l.demanded < pos {
		l.demanded = pos
		l.wakeWriter()
	}
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
func (l *Log) durable(pos int64) bool { return !l.starting() && l.synced.Load() >= pos }

// WaitForSpace blocks while more than Options.Limit bytes wait to be written, so that a
// slow disk slows the traffic down. Call it before taking locks. It returns Err if the
// log fails.
func (l *Log) WaitForSpace(cancel <-chan struct{}) error {
	if l.HasSpace() {
		return l.Err()
	}
	return l.await(cancel, func() (done bool, err error) {
		switch err := l.Err(); {
		case err != nil || l.buffered.Load() <= l.o.Limit:
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
		case err != nil || l.held() == 0:
			return true, err
		case l.closed || l.starting():
			return true, ErrClosed
		}
		return false, nil
	})
}

// held returns the bytes in memory. Requires mu.
func (l *Log) held() int64 { return l.buffered.Load() + int64(l.open.len()) }

// HasSpace reports whether WaitForSpace would return at once.
func (l *Log) HasSpace() bool { return l.buffered.Load() <= l.o.Limit }

// await calls check under mu, now and after each change, until it reports true, and
// returns its error.
func (l *Log) await(cancel <-chan struct{}, check func() (done bool, err error)) error {
	for {
		l.mu.Lock()
		changed := l.changed
		done, err := check()
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

// setFault derives fault from failed and broken. Requires mu.
func (l *Log) setFault() {
	err := l.failed
	if l.broken != nil {
		err = l.broken
	}
	if err == nil || l.starting() {
		l.fault.Store(nil)
	} else {
		l.fault.Store(&err)
	}
	l.broadcast()
}

// Starting reports whether the log was begun at run time and has not had its first
// rewrite, without which its files hold nothing.
func (l *Log) Starting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starting()
}

// starting is Starting. Requires mu.
func (l *Log) starting() bool { return errors.Is(l.broken, errStarting) }

// abandon gives up the file of an epoch: pending data for it is dropped, and nothing is
// written until a rewrite has replaced it with a base and a new file. Requires mu.
func (l *Log) abandon(why error, epoch int) {
	if l.broken == nil {
		l.broken = why
	}
	l.brokenAt = max(l.brokenAt, epoch)
	l.drop(epoch)
	l.setFault()
}

// drop discards pending data for the files up to an epoch. Requires mu.
func (l *Log) drop(epoch int) {
	kept := l.queue[:0]
	var held int64
	for _, c := range l.queue {
		if c.epoch > epoch {
			kept = append(kept, c)
			held += int64(c.len())
		}
	}
	clear(l.queue[len(kept):])
	l.queue = kept
	if l.inflight != nil && l.inflight.epoch <= epoch {
		l.inflight = nil
	} else if l.inflight != nil {
		held += int64(l.inflight.len())
	}
	if l.open.epoch <= epoch {
		l.open = chunk{}
	}
	l.buffered.Store(held)
}
