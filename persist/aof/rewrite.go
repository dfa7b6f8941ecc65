package aof

import (
	"errors"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/persist/disk"
)

// A rewrite replaces the files with a base of the keyspace at one instant, while
// traffic goes on:
//
//	Prepare   creates and lists the next incremental file. I/O.
//	Switch    fixes the instant, with all shards locked: later appends go to that
//	          file. Memory only.
//	Finish    writes the base, and a manifest with it and what follows it. I/O.
//
// A crash in between finds either all the old files or the new ones. If Finish fails,
// the log continues with one file more.
//
// The same three steps repair a failed sync (NeedsRewrite). Then nothing is written
// until Finish is done, and the new file is not listed: a list with it behind a file of
// unknown end would have a hole.
type rewrite struct {
	active   bool
	file     *file // the prepared one, which has the number incrSeq, until Switch
	listed   bool  // it is in man
	at       int64 // position of the switch
	epoch    int   // of what is appended after the switch; 0: Switch was not called
	man      manifest
	baseSeq  int64 // highest numbers used; none is reused, because after an error
	incrSeq  int64 // it is unknown which manifest a crash would leave
	failures int64
	waitMs   int64 // Tick before which no rewrite should be tried
	baseSize int64
	restSize int64 // of the complete files: base and earlier incrs
}

// Prepare is the first step of a rewrite. It returns ErrRewriting if one is under way.
func (l *Log) Prepare() error {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return ErrClosed
	case l.re.active:
		l.mu.Unlock()
		return ErrRewriting
	}
	l.re.active, l.re.epoch = true, 0
	list := l.health.broken == nil
	l.mu.Unlock()

	err := l.prepare(list)
	if err != nil {
		l.endRewrite(err)
		return fmt.Errorf("preparing an append-only file: %w", err)
	}
	return nil
}

// prepare creates the next file and lists it if list is set. Requires active.
func (l *Log) prepare(list bool) error {
	re := &l.re
	if re.file != nil && (re.listed || !list) {
		return nil // left by a rewrite given up before its switch
	}
	re.incrSeq++
	p := re.part(l.o)
	f, err := l.o.FS.Create(l.o.in(p.name))
	if err == nil {
		err = l.o.FS.SyncDir(l.o.DirName)
	}
	if err == nil && list {
		man := re.man.with(p)
		if err = man.persist(l.o); err == nil {
			l.setManifest(man)
		}
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return err // the file stays: a manifest that lists it may be on disk
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	re.file, re.listed = &file{f: f, name: p.name}, list
	return nil
}

// part returns the prepared file's line of a manifest.
func (re *rewrite) part(o Options) part {
	return part{partName(o, re.incrSeq, incrSuffix, aofFormat), re.incrSeq, kindIncr}
}

// with returns the manifest with one more incremental file.
func (m manifest) with(p part) manifest {
	m.incrs = append(m.incrs[:len(m.incrs):len(m.incrs)], p)
	return m
}

// Switch is the second step. It requires all shards locked and does no I/O. The base
// must hold what the shards hold now, and the instant of the latest group
// (AppendInstant, or a field of the RDB form).
func (l *Log) Switch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.re.active || l.re.epoch != 0 {
		panic("aof: Switch without Prepare")
	}
	l.closeChunk()
	l.files.epoch++
	l.backlog.selected = -1
	f := l.re.file
	f.epoch = l.files.epoch
	l.files.nexts = append(l.files.nexts, f)
	l.re.file, l.re.at, l.re.epoch = nil, l.end.Load(), l.files.epoch
}

// Finish is the third step. write writes the base, in RDB form if rdb is set and as
// commands otherwise. Finish fails if write or the disk fails.
func (l *Log) Finish(rdb bool, write func(io.Writer) error) error {
	l.mu.Lock()
	ok := l.re.active && l.re.epoch != 0
	l.mu.Unlock()
	if !ok {
		panic("aof: Finish without Switch")
	}
	err := l.finish(rdb, write)
	l.endRewrite(err)
	if err != nil {
		return fmt.Errorf("rewriting the append-only file: %w", err)
	}
	return nil
}

// Abort gives up a rewrite instead of Switch or Finish.
func (l *Log) Abort() { l.endRewrite(errors.New("given up")) }

// endRewrite ends the active rewrite.
func (l *Log) endRewrite(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.re.active = false
	if err == nil {
		l.re.failures, l.re.waitMs = 0, 0
		return
	}
	l.re.failures++
	l.re.waitMs = l.ticked + l.pauseMs()
	if l.health.broken != nil {
		l.abandon(l.health.broken, l.files.epoch) // appends since the switch have no file
	}
}

// finish requires active and a completed switch.
func (l *Log) finish(rdb bool, write func(io.Writer) error) error {
	re, format := &l.re, aofFormat
	if rdb {
		format = rdbFormat
	}
	re.baseSeq++
	base := part{partName(l.o, re.baseSeq, baseSuffix, format), re.baseSeq, kindBase}
	var size int64
	writeFile := disk.WriteFile
	if l.o.InPieces() {
		writeFile = disk.WriteFileInPieces
	}
	err := writeFile(l.o.FS, l.o.in(base.name), l.o.in(tempPrefix+base.name), func(w io.Writer) error {
		counted := counter{w: w}
		err := write(&counted)
		size = counted.n
		return err
	})
	if err != nil {
		return err
	}
	man := re.man.rewritten(base, re.part(l.o))
	if err := man.persist(l.o); err != nil {
		return err
	}
	l.setManifest(man)
	l.commit(size)
	if err := removeHistory(l.o, man); err != nil {
		l.o.Log(true, fmt.Sprintf("Removing AOF files that a rewrite has replaced: %v", err))
		return nil // retried when the log is next opened
	}
	man.history = nil
	l.setManifest(man)
	return nil
}

func (l *Log) setManifest(m manifest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.re.man = m
}

// rewritten returns the manifest after a rewrite: the new base, the file switched to
// and those after it. The others become history.
func (m manifest) rewritten(base, from part) manifest {
	out := manifest{base: &base, history: m.history}
	for _, p := range m.files() {
		if p.kind == kindIncr && p.seq >= from.seq {
			out.incrs = append(out.incrs, p)
			continue
		}
		p.kind = kindHistory
		out.history = append(out.history, p)
	}
	if len(out.incrs) == 0 {
		out.incrs = []part{from} // it was not listed
	}
	return out
}

// commit discards what the new base covers: data appended before the switch is on disk
// through it.
func (l *Log) commit(baseSize int64) {
	l.writeGate.enter()
	l.syncGate.enter()
	l.mu.Lock()
	defer func() {
		l.mu.Unlock()
		l.syncGate.leave()
		l.writeGate.leave()
	}()
	re := &l.re
	if l.files.cur == nil || l.files.cur.epoch < re.epoch {
		if l.files.cur != nil {
			_ = l.files.cur.f.Close() // it is history
		}
		l.advance(re.epoch)
	}
	re.baseSize, re.restSize = baseSize, baseSize
	l.backlog.drop(re.epoch - 1)
	l.written = max(l.written, re.at)
	if re.at > l.synced.Load() {
		l.synced.Store(re.at)
	}
	if l.health.broken != nil && l.health.brokenAt < re.epoch {
		l.health.broken = nil
	}
	l.health.failed = nil // if the disk is still full, the next write fails again
	l.setFault()
	l.writer.rouse()
}

// pauseMs returns how long to wait after a failed rewrite. Redis allows three attempts,
// each of which leaves one file more, then waits one minute, two, four, up to an hour.
// A log that cannot be written to until a rewrite succeeds retries sooner. Requires mu.
func (l *Log) pauseMs() int64 {
	const second, minute = 1000, 60_000
	if l.health.broken != nil {
		return int64(min(second<<min(l.re.failures-1, 16), minute))
	}
	if n := len(l.re.man.incrs); n >= 3 {
		return int64(min(minute<<min(n-3, 16), 60*minute))
	}
	return 0
}

// MayRewrite reports whether an automatic rewrite may begin: enough time has passed
// since the last one that failed.
func (l *Log) MayRewrite(nowMs int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.re.active && !l.closed && nowMs >= l.re.waitMs
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
