package aof

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/persist/disk"
)

// chunkSize is how much is written at once, and how much a growing buffer ever
// has to be copied under a lock: beyond it a new chunk begins.
const chunkSize = 64 << 10

// Log is an append-only log that is being written. All methods may be called
// concurrently; Switch wants all shards held.
//
// A position counts the bytes that were appended since the Log was opened, over
// all its files; the lines that the writer adds are not counted. Positions are
// in the order of Append: waiting for one waits for everything before it.
type Log struct {
	o Options

	end    atomic.Int64          // position after the last append; changes under mu
	synced atomic.Int64          // what is on disk for certain; changes under mu
	held   atomic.Int64          // bytes in memory; changes under mu
	fault  atomic.Pointer[error] // why writes should be refused; changes under mu

	mu       sync.Mutex    // of what follows; held for memory only
	open     chunk         // what Append fills
	queue    []chunk       // full ones, oldest first
	inflight *chunk        // the one that the writer writes, or failed to
	spare    [][]byte      // buffers to use again
	selected int           // the database that the reader of the file is in
	nowMs    int64         // the latest instant appended
	epoch    int           // of the file that Append's bytes go to
	written  int64         // position up to which the files have it
	changed  chan struct{} // closed and made anew when synced or a fault changes, or room comes
	idle     bool          // the writer sleeps: wake it
	failed   error         // a write failed: tried again by Tick
	broken   error         // a sync failed: nothing is written until a rewrite is done
	brokenAt int           // the epoch of the file whose sync failed
	retry    bool          // Tick allows another try
	syncing  bool
	closed   bool
	over     bool    // Close is done: nothing is synced any more
	cur      *file   // what is written to; nil before the first rewrite of a log begun at run time
	nexts    []*file // those switched to that the writer did not come to yet
	ticked   int64   // last Tick
	tried    int64   // Tick of the last retry
	lastSync int64   // Tick of the last sync
	delayed  int64   // syncs that were due while one was still running
	re       rewrite

	writing gate // who writes to cur; before syncGate, before mu
	syncOne gate // who syncs; before mu

	wake  chan struct{} // the writer's; sent to by whoever takes idle back
	flush chan struct{} // a sync is wanted
	stop  chan struct{}
	done  sync.WaitGroup
}

// chunk is groups that are written at once. The first leadRoom bytes are kept
// for the line before them.
type chunk struct {
	buf    []byte
	end    int64 // position after it
	nowMs  int64
	epoch  int
	sealed []byte // with its lines, as it is written
}

func (c *chunk) len() int { return max(0, len(c.buf)-leadRoom) }

// file is one incremental file. size is what it holds in whole batches; only
// who holds writing changes it, under mu.
type file struct {
	f      disk.File
	name   string
	epoch  int
	size   int64
	synced int64 // bytes of it that are on disk
	ragged bool  // a failed write may have left bytes beyond size
}

// gate is a lock that a goroutine can wait for in a synctest bubble, where one
// that waits for a Mutex stops the clock.
type gate chan struct{}

func newGate() gate   { return make(gate, 1) }
func (g gate) enter() { g <- struct{}{} }
func (g gate) leave() { <-g }

// Append takes a group into the log and answers the position after it. nowMs is
// the instant that the group belongs to. It copies to memory and does no more:
// call it under the locks of the keys that the group is about.
func (l *Log) Append(g Group, nowMs int64) (end int64) {
	l.mu.Lock()
	c := &l.open
	if c.buf == nil {
		c.buf = l.buffer()
	}
	before := len(c.buf)
	c.buf, l.selected = g.AppendTo(c.buf, l.selected)
	n := int64(len(c.buf) - before)
	l.nowMs = max(l.nowMs, nowMs)
	c.nowMs = l.nowMs
	end = l.end.Add(n)
	c.end, c.epoch = end, l.epoch
	switch {
	case l.closed, l.discards():
		c.buf = c.buf[:before]
	case l.held.Add(n) > 4*l.o.Limit:
		l.breakOff(errBehind, l.epoch)
	default:
		if len(c.buf) >= chunkSize {
			l.cut()
		}
		l.rouse()
	}
	l.mu.Unlock()
	return end
}

// rouse wakes the writer. Requires mu.
func (l *Log) rouse() {
	if l.idle {
		l.idle = false
		l.wake <- struct{}{} // has room: it is sent to once for each time that idle was set
	}
}

// discards tells whether what is appended would go to a file that is given up:
// the rewrite that replaces the file will have it. Requires mu.
func (l *Log) discards() bool { return l.broken != nil && l.epoch <= l.brokenAt }

// cut ends the open chunk. Requires mu.
func (l *Log) cut() {
	if l.open.len() > 0 {
		l.queue = append(l.queue, l.open)
		l.open = chunk{}
	}
}

// buffer is a buffer with room for the line before a chunk. Requires mu.
func (l *Log) buffer() []byte {
	if n := len(l.spare); n > 0 {
		b := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return b[:leadRoom]
	}
	return make([]byte, leadRoom, chunkSize+chunkSize/4)
}

// recycle keeps a buffer, unless a large group has made it large. Requires mu.
func (l *Log) recycle(b []byte) {
	if len(l.spare) < 8 && cap(b) <= 2*chunkSize {
		l.spare = append(l.spare, b)
	}
}

// End is the position after the last append. Whoever reads it under the locks
// of some keys has a position that covers all that is in those keys.
func (l *Log) End() int64 { return l.end.Load() }

// Synced is the position up to which everything is on disk.
func (l *Log) Synced() int64 { return l.synced.Load() }

// Err is why no more should be written to the keyspace (MISCONF): a write or a
// sync that failed and was not made good yet. nil when all is well; one load.
func (l *Log) Err() error {
	if e := l.fault.Load(); e != nil {
		return *e
	}
	return nil
}

// Wait returns nil when everything before pos is on disk. It fails at once when
// that cannot be said any more: then the caller must not tell its client that
// its write was done. While a log begun at run time has not seen its first
// rewrite, it promises nothing and Wait answers nil.
func (l *Log) Wait(pos int64, giveUp <-chan struct{}) error {
	if l.synced.Load() >= pos {
		return nil
	}
	return l.await(giveUp, func() (over bool, err error) {
		switch err := l.Err(); {
		case l.synced.Load() >= pos || l.starting():
			return true, nil
		case err != nil:
			return true, err
		case l.over:
			return true, ErrClosed
		}
		return false, nil
	})
}

// Outlast is Wait for who can be told late: it waits until the log works again,
// and for the first rewrite of one begun at run time. It fails where the log was
// closed before.
func (l *Log) Outlast(pos int64, giveUp <-chan struct{}) error {
	return l.await(giveUp, func() (over bool, err error) {
		switch {
		case l.has(pos):
			return true, nil
		case l.over:
			return true, ErrClosed
		}
		return false, nil
	})
}

// Has reports whether everything before pos is on disk for certain: Outlast
// without waiting.
func (l *Log) Has(pos int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.has(pos)
}

// has is Has. Requires mu.
func (l *Log) has(pos int64) bool { return !l.starting() && l.synced.Load() >= pos }

// Room holds the caller up while more than Options.Limit bytes wait to be
// written: a disk that is slower than the traffic slows the traffic down. Ask
// before the locks are taken. It answers Err when the log fails.
func (l *Log) Room(giveUp <-chan struct{}) error {
	if l.held.Load() <= l.o.Limit {
		return l.Err()
	}
	return l.await(giveUp, func() (over bool, err error) {
		switch err := l.Err(); {
		case err != nil || l.held.Load() <= l.o.Limit:
			return true, err
		case l.closed:
			return true, ErrClosed
		}
		return false, nil
	})
}

// await asks under mu, and again at each change, whether a wait is over and what
// came of it.
func (l *Log) await(giveUp <-chan struct{}, ask func() (over bool, err error)) error {
	for {
		l.mu.Lock()
		changed := l.changed
		over, err := ask()
		l.mu.Unlock()
		if over {
			return err
		}
		select {
		case <-changed:
		case <-giveUp:
			return ErrGaveUp
		}
	}
}

// announce wakes all who wait. Requires mu.
func (l *Log) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// setFault makes Err say what failed and broken say. Requires mu.
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
	l.announce()
}

// starting tells whether this is a log begun at run time, before its first
// rewrite. Requires mu.
func (l *Log) starting() bool { return errors.Is(l.broken, errStarting) }

// breakOff gives the file of an epoch up: what was to go to it is dropped, and
// nothing is written until a rewrite has put a base and another file in its
// place. Requires mu.
func (l *Log) breakOff(why error, epoch int) {
	if l.broken == nil {
		l.broken = why
	}
	l.brokenAt = max(l.brokenAt, epoch)
	l.drop(epoch)
	l.setFault()
}

// drop forgets what waits to be written to the files of an epoch and earlier
// ones. Requires mu.
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
	} else {
		held += int64(l.open.len())
	}
	l.held.Store(held)
}
