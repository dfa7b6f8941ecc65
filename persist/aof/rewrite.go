package aof

import (
	"errors"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/persist/disk"
)

// A rewrite puts a base that holds the keyspace at one instant in the place of
// the files there are, while traffic goes on:
//
//	Prepare   makes the incremental file that comes next, and lists it. I/O.
//	Switch    the instant, all shards held: what is appended from here on goes to
//	          that file. Memory only.
//	Finish    writes the base, and a manifest with it and what follows it. I/O.
//
// A crash anywhere in between finds either the old files, all of them, or the
// new. When Finish fails, the log goes on with one file more.
//
// After a failed sync (NeedsRewrite) the same three steps are the way out. Until
// Finish is done nothing is written then, and the new file is not listed: a
// list that had it behind the one whose end is not known would have a hole.
type rewrite struct {
	on       bool
	switched bool
	at       int64 // position of the switch
	file     *file // the prepared one, until it is switched to
	part     part
	epoch    int
	listed   bool
	man      manifest
	baseSeq  int64 // the highest numbers given out: none is used twice, since after
	incrSeq  int64 // an error nobody knows which manifest a crash would leave
	failures int64
	waitMs   int64 // Tick before which no rewrite should be tried
	baseSize int64
	restSize int64 // of the files that are complete: base and earlier incrs
}

// Prepare is the first step. ErrRewriting: one is under way.
func (l *Log) Prepare() error {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return ErrClosed
	case l.re.on:
		l.mu.Unlock()
		return ErrRewriting
	}
	l.re.on, l.re.switched = true, false
	list := l.broken == nil
	l.mu.Unlock()

	err := l.prepare(list)
	if err != nil {
		l.ended(err)
		return fmt.Errorf("preparing an append-only file: %w", err)
	}
	return nil
}

// prepare requires on.
func (l *Log) prepare(list bool) error {
	re := &l.re
	if re.file != nil && (re.listed || !list) {
		return nil // of a rewrite that was given up before its switch
	}
	re.incrSeq++
	p := part{partName(l.o, re.incrSeq, incrSuffix, aofFormat), re.incrSeq, kindIncr}
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
		return err // the file stays: a manifest that has it may be on disk
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	re.file, re.part, re.listed = &file{f: f, name: p.name}, p, list
	return nil
}

// with is the manifest and one more incremental file.
func (m manifest) with(p part) manifest {
	m.incrs = append(m.incrs[:len(m.incrs):len(m.incrs)], p)
	return m
}

// Switch is the second step: it requires all shards held, and does no I/O. What
// the base is to hold is what the shards hold now, and the instant of the
// latest group, which it must carry (AppendInstant, or a field of Redis' form).
func (l *Log) Switch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.re.on || l.re.switched {
		panic("aof: Switch without Prepare")
	}
	l.cut()
	l.epoch++
	l.selected = -1
	f := l.re.file
	f.epoch = l.epoch
	l.nexts = append(l.nexts, f)
	l.re.file, l.re.switched, l.re.at, l.re.epoch = nil, true, l.end.Load(), l.epoch
}

// Finish is the third step. write writes the base: in Redis' binary form when
// rdb, as commands otherwise. It fails when write fails, or the disk does.
func (l *Log) Finish(rdb bool, write func(io.Writer) error) error {
	l.mu.Lock()
	ok := l.re.on && l.re.switched
	l.mu.Unlock()
	if !ok {
		panic("aof: Finish without Switch")
	}
	err := l.finish(rdb, write)
	l.ended(err)
	if err != nil {
		return fmt.Errorf("rewriting the append-only file: %w", err)
	}
	return nil
}

// Abort gives a rewrite up, in the place of Switch or of Finish.
func (l *Log) Abort() { l.ended(errors.New("given up")) }

// ended ends a rewrite that is on.
func (l *Log) ended(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.re.on = false
	if err == nil {
		l.re.failures, l.re.waitMs = 0, 0
		return
	}
	l.re.failures++
	l.re.waitMs = l.ticked + l.pauseMs()
	if l.broken != nil {
		l.breakOff(l.broken, l.epoch) // what came since the switch has no file
	}
}

// finish requires on, and that the switch is done.
func (l *Log) finish(rdb bool, write func(io.Writer) error) error {
	re, format := &l.re, aofFormat
	if rdb {
		format = rdbFormat
	}
	re.baseSeq++
	base := part{partName(l.o, re.baseSeq, baseSuffix, format), re.baseSeq, kindBase}
	var size int64
	err := disk.WriteFile(l.o.FS, l.o.in(base.name), l.o.in(tempPrefix+base.name), func(w io.Writer) error {
		counted := counter{w: w}
		err := write(&counted)
		size = counted.n
		return err
	})
	if err != nil {
		return err
	}
	man := re.man.rewritten(base, re.part)
	if err := man.persist(l.o); err != nil {
		return err
	}
	l.setManifest(man)
	l.commit(size)
	if err := removeHistory(l.o, man); err != nil {
		l.o.Log(true, fmt.Sprintf("Removing AOF files that a rewrite has replaced: %v", err))
		return nil // done when the log is opened the next time
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

// rewritten is the manifest after a rewrite: the base, the file that was
// switched to and those after it; the others are history.
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
		out.incrs = []part{from} // it was not listed yet
	}
	return out
}

// commit lets go of what the new base has: what was still to be written before
// the switch is on disk by it.
func (l *Log) commit(baseSize int64) {
	l.writing.enter()
	l.syncOne.enter()
	l.mu.Lock()
	defer func() {
		l.mu.Unlock()
		l.syncOne.leave()
		l.writing.leave()
	}()
	re := &l.re
	if l.cur == nil || l.cur.epoch < re.epoch {
		if l.cur != nil {
			_ = l.cur.f.Close() // it is history
		}
		l.advance(re.epoch)
	}
	re.baseSize, re.restSize = baseSize, baseSize
	l.drop(re.epoch - 1)
	l.written = max(l.written, re.at)
	if re.at > l.synced.Load() {
		l.synced.Store(re.at)
	}
	if l.broken != nil && l.brokenAt < re.epoch {
		l.broken = nil
	}
	l.failed = nil // if the disk is still full, the next write tells
	l.setFault()
	l.rouse()
}

// pauseMs is how long to wait after a rewrite that failed. Redis lets three be
// tried, each leaves a file more, and then waits one minute, two, four, up to an
// hour; a log that cannot be written to until one succeeds asks sooner. Requires mu.
func (l *Log) pauseMs() int64 {
	const second, minute = 1000, 60_000
	if l.broken != nil {
		return int64(min(second<<min(l.re.failures-1, 16), minute))
	}
	if n := len(l.re.man.incrs); n >= 3 {
		return int64(min(minute<<min(n-3, 16), 60*minute))
	}
	return 0
}

// MayRewrite tells whether enough time has passed since the last rewrite that
// failed to begin one that nobody asked for.
func (l *Log) MayRewrite(nowMs int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.re.on && !l.closed && nowMs >= l.re.waitMs
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
