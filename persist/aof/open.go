package aof

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/persist/disk"
)

// Open continues the log that Load has read. If Load found none, Open creates one, and
// write writes its base: the current, usually empty, keyspace, in RDB form if rdb is
// set. The caller holds the directory's lock, and has neither appended anything nor
// answered any client.
func Open(o Options, found *Loaded, rdb bool, write func(io.Writer) error) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	man := found.man
	if !found.Found {
		if man, err = begin(o, rdb, write); err != nil {
			return nil, fmt.Errorf("beginning the append-only file: %w", err)
		}
	}
	l := newLog(o, man)
	l.backlog.nowMs = found.InstantMs
	if found.unsynced != "" && found.unsyncedFrom >= 0 {
		if err := o.FS.Rewrite(found.unsynced, found.unsyncedFrom); err != nil {
			return nil, fmt.Errorf("opening the append-only file: %w", err)
		}
	}
	if err := l.resume(); err != nil {
		return nil, fmt.Errorf("opening the append-only file: %w", err)
	}
	l.start()
	return l, nil
}

// Begin creates a log at run time (CONFIG SET appendonly yes). A log that the directory
// already holds remains what a crash finds until the first rewrite is done. Status
// reports NeedsRewrite from the start.
func Begin(o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := makeDir(o); err != nil {
		return nil, err
	}
	man, _, err := readManifest(o)
	if err != nil {
		return nil, err
	}
	l := newLog(o, man)
	l.health.broken = errStarting
	l.start()
	return l, nil
}

func newLog(o Options, man manifest) *Log {
	l := &Log{
		o: o, changed: make(chan struct{}), writeGate: newGate(), syncGate: newGate(),
		backlog: backlog{selected: -1, closeAt: int(min(chunkSize, o.Limit))},
		writer: writer{
			wake: make(chan struct{}, 1), flush: make(chan struct{}, 1), stop: make(chan struct{}),
		},
	}
	l.re.man, l.re.baseSeq, l.re.incrSeq = man, man.baseSeq(), man.lastIncr()
	for _, p := range man.history {
		if p.seq > 0 {
			l.re.baseSeq, l.re.incrSeq = max(l.re.baseSeq, p.seq), max(l.re.incrSeq, p.seq)
		}
	}
	return l
}

func (l *Log) start() {
	l.writer.done.Add(2)
	go l.run()
	go l.syncer()
}

// resume opens the last incremental file, or creates one.
func (l *Log) resume() error {
	clean(l.o, &l.re)
	// Clients will be answered from what the last process wrote, synced or not, so all
	// of it must be on disk first, in all files: a process killed between Prepare and
	// the first write to the new file left the one before it unsynced. The names may
	// not be on disk, either.
	for _, dir := range []string{l.o.DirName, "."} {
		if err := l.o.FS.SyncDir(dir); err != nil {
			return err
		}
	}
	var last *file
	for _, p := range l.re.man.files() {
		f, size, err := openSynced(l.o, p.name)
		if err != nil {
			return err
		}
		if last != nil {
			_ = last.f.Close() // nothing was written to it
		}
		last = &file{f: f, name: p.name, size: size, synced: size}
		l.re.restSize += size
	}
	l.re.baseSize = l.re.restSize // Redis counts growth from the start
	if len(l.re.man.incrs) > 0 {
		l.files.cur = last
		l.re.restSize -= last.size
		return nil
	}
	if last != nil {
		_ = last.f.Close()
	}
	err := l.prepare(true)
	l.files.cur, l.re.file = l.re.file, nil
	return err
}

// openSynced opens a file for appending and syncs its content.
func openSynced(o Options, name string) (disk.File, int64, error) {
	f, err := o.FS.OpenAppend(o.in(name))
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Size()
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// begin creates the directory and a base.
func begin(o Options, rdb bool, write func(io.Writer) error) (manifest, error) {
	if err := makeDir(o); err != nil {
		return manifest{}, err
	}
	format := aofFormat
	if rdb {
		format = rdbFormat
	}
	base := part{partName(o, 1, baseSuffix, format), 1, kindBase}
	o.Log(false, fmt.Sprintf("Creating AOF base file %s on server start", base.name))
	err := disk.WriteFile(o.FS, o.in(base.name), o.in(tempPrefix+base.name), write)
	return manifest{base: &base}, err
}

func makeDir(o Options) error {
	if err := o.FS.MkdirAll(o.DirName); err != nil {
		return err
	}
	return o.FS.SyncDir(".")
}

func fileSize(o Options, name string) (int64, error) {
	f, err := o.FS.Open(o.in(name))
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	return size, errors.Join(err, f.Close())
}

// clean removes what an interrupted rewrite left: temporary files, files that the
// manifest calls history, and a base or an empty incremental file that no manifest
// lists. Failures are only logged.
func clean(o Options, re *rewrite) {
	warn := func(err error) {
		if err != nil {
			o.Log(true, fmt.Sprintf("Removing what an unfinished rewrite left: %v", err))
		}
	}
	names, err := o.FS.ReadDir(o.DirName)
	warn(err)
	for _, name := range names {
		switch seq, kind := partOf(o, name); {
		case strings.HasPrefix(name, tempPrefix+o.Name+"."):
			warn(o.FS.Remove(o.in(name)))
		case kind == kindBase && seq > re.man.baseSeq() && re.man.base != nil,
			kind == kindIncr && seq > re.man.lastIncr():
			if kind == kindIncr {
				if size, err := fileSize(o, name); err != nil || size > 0 {
					re.incrSeq = max(re.incrSeq, seq)
					o.Log(true, fmt.Sprintf("The AOF file %s is not in the manifest: it is left alone", name))
					continue
				}
			}
			if !listed(re.man, name) {
				warn(o.FS.Remove(o.in(name)))
			}
		}
	}
	if len(re.man.history) == 0 {
		return
	}
	if err := removeHistory(o, re.man); err != nil {
		warn(err)
		return
	}
	re.man.history = nil
}

func listed(m manifest, name string) bool {
	for _, p := range append(m.files(), m.history...) {
		if p.name == name {
			return true
		}
	}
	return false
}

// partOf parses a name made by partName.
func partOf(o Options, name string) (seq int64, kind byte) {
	rest, ok := strings.CutPrefix(name, o.Name+".")
	number, suffix, found := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if !ok || !found || err != nil {
		return 0, 0
	}
	switch "." + suffix {
	case baseSuffix + rdbFormat, baseSuffix + aofFormat:
		return seq, kindBase
	case incrSuffix + aofFormat:
		return seq, kindIncr
	}
	return 0, 0
}

// removeHistory removes the files that a manifest calls history, then their lines.
func removeHistory(o Options, m manifest) error {
	for _, p := range m.history {
		if err := o.FS.Remove(o.in(p.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := o.FS.SyncDir(o.DirName); err != nil {
		return err // a name that comes back must be listed
	}
	m.history = nil
	return m.persist(o)
}

// Close writes and syncs what is left, whatever appendfsync says, and stops the log.
// Later appends are lost. It returns the error that prevented this.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed, l.health.retry = true, true
	l.broadcast()
	l.mu.Unlock()
	close(l.writer.stop)
	l.writer.done.Wait()

	l.round()
	err := l.sync(func() {})
	if err == nil {
		err = l.Err()
	}
	if l.health.starting() {
		err = nil
	}
	l.writeGate.enter() // never released
	if l.files.cur != nil {
		if err == nil {
			err = l.markSynced()
		}
		err = errors.Join(err, l.files.cur.f.Close())
	}
	for _, f := range append(l.files.nexts, l.re.file) {
		if f != nil {
			err = errors.Join(err, f.f.Close())
		}
	}
	l.mu.Lock()
	l.terminated = true
	l.broadcast()
	l.mu.Unlock()
	return err
}

// markSynced appends a batch that says that all before it is on disk, so that damage to
// it is never mistaken for a torn tail.
func (l *Log) markSynced() error {
	f := l.files.cur
	line := appendHeader(nil, l.backlog.nowMs, f.size)
	line = appendTrailer(line, len(line), crc32.Checksum(line, castagnoli))
	if _, err := f.f.Write(line); err != nil {
		return errors.Join(err, f.f.Truncate(f.size))
	}
	f.size += int64(len(line))
	return f.f.Sync()
}
