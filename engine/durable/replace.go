package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/store"
)

// Copy writes all keys as they are at one instant, in the form of dump.rdb, while commands run. begin is
// called at the instant, with every shard locked, and returns the place that the copy stands for. Closing
// stop ends it early.
func (s *Storage) Copy(w io.Writer, stop <-chan struct{}, begin func() History) error {
	return s.writeSnapshotAt(w, false, stop, func() (History, bool) { return begin(), true })
}

// CopyWithoutKeys is Copy of the function libraries, or of nothing at all.
func (s *Storage) CopyWithoutKeys(w io.Writer, libraries bool, begin func() History) error {
	if !s.options.LockAll() {
		return ErrBusy
	}
	pre := s.preambleAt(begin(), true)
	s.store.Unlock(store.AllShards)
	if !libraries {
		pre.libraries = nil
	}
	return s.newRDBWriter(w, false, pre).Close()
}

// ErrLoading is returned while something else is being loaded.
var ErrLoading = errors.New("something else is being loaded")

// Errors that Replace's error wraps if a copy has keys that are not held here, or a newer format.
var (
	ErrUnsupported = rdb.ErrUnsupported
	ErrVersion     = rdb.ErrVersion
)

// Replace replaces all keys by those of a copy in the form of dump.rdb. Unless the whole copy can be read,
// has nothing behind it and stands for the place at, if it names one, nothing changes. Then empty removes
// what there is, or returns an error to leave it; commands are answered LOADING meanwhile. The log, if there
// is one, is begun anew. progressed is called now and then. db is the database that is selected in the
// stream that follows.
func (s *Storage) Replace(
	f io.ReaderAt, size int64, at History, empty func() error, progressed func(),
) (db int, err error) {
	check := s.newLoader(func() {})
	if err := check.check(f, size, at, progressed); err != nil {
		return 0, err
	}
	if !s.loads.running.CompareAndSwap(nil, &progress{beganS: s.unixSeconds()}) {
		return 0, ErrLoading
	}
	s.switching.Lock() // the log may be on its way in or out
	defer s.switching.Unlock()
	logging := s.newestLog() != nil
	if logging {
		s.stopLog()
	}
	defer func() {
		if errors.Is(err, ErrClosing) {
			return // still loading: part of a copy does not get into files
		}
		s.loads.running.Store(nil)
		if !logging {
			return
		}
		if err := s.startLog(); err != nil {
			s.options.Log.Warn("the append-only file was not begun anew after a copy of a master's keys",
				"error", err)
		}
	}()
	if err := empty(); err != nil {
		return 0, err
	}
	l := s.newLoader(func() {})
	l.progressed = progressed
	sum, err := l.snapshot(f, size, false)
	if err != nil {
		return 0, fmt.Errorf("the copy was whole, but: %w", err)
	}
	s.startClock(l.instantMs)
	s.changes.Add(int64(sum.Keys))
	s.options.Log.Info("loaded a copy of the master's keys", "keys", l.countKeys(), "bytes", size)
	l.logSkipped()
	return l.history.DB, nil
}

// check reads a copy to its end without keeping anything.
func (l *loader) check(f io.ReaderAt, size int64, at History, progressed func()) error {
	s := l.storage
	var named History
	o := s.readOptions()
	sum, err := rdb.Read(f, size, o, rdb.Handler{
		Key: func(int, []byte, int64, store.Value) error {
			if s.loads.canceled.Load() {
				return ErrClosing
			}
			return nil
		},
		Function: func(code string) error {
			if err := s.options.CheckLibrary(code); err != nil && !l.skip {
				return fmt.Errorf("%w: a function library: %w", ErrUnsupported, err)
			}
			return nil
		},
		Aux:      func(name, value string) error { named.note(name, value); return nil },
		Progress: func(_, _ int64) { progressed() },
	})
	switch {
	case errors.Is(err, ErrUnsupported) || errors.Is(err, ErrVersion):
		if !o.NoChecksum && rdb.Damaged(f, size) { // so another copy may do
			return errors.New("the checksum is wrong, and " + err.Error()) // it is not unsupported
		}
		return explainUnsupported(err)
	case err != nil:
		return err
	case sum.End != size:
		return fmt.Errorf("it ends %d bytes before its length", size-sum.End)
	case named.ID != "" && (named.ID != at.ID || named.Offset != at.Offset):
		// The master's reply, which has no checksum, differs from the copy, which has one.
		return fmt.Errorf("it stands for offset %d of %.40q, not for %d of %s", named.Offset, named.ID,
			at.Offset, at.ID)
	}
	return nil
}

// A Spool is a place for a copy that arrives: a file, or memory if there is no directory.
type Spool struct {
	disk.File
	dir    disk.FS
	name   string
	memory bytes.Buffer
	size   int64
}

var spools atomic.Int64 // numbers the files of this process

// Spool returns an empty Spool.
func (s *Storage) Spool() (*Spool, error) {
	dir := s.dir()
	if dir == nil || !s.opened {
		return &Spool{}, nil
	}
	name := "temp-sync-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(spools.Add(1), 10) + ".rdb"
	f, err := dir.Create(name)
	if err != nil {
		return nil, err
	}
	return &Spool{File: f, dir: dir, name: name}, nil
}

// Write appends to the copy.
func (p *Spool) Write(b []byte) (int, error) {
	if p.dir == nil {
		return p.memory.Write(b)
	}
	n, err := p.File.Write(b)
	p.size += int64(n)
	return n, err
}

// ReadAt reads what was written.
func (p *Spool) ReadAt(b []byte, at int64) (int, error) {
	if p.dir == nil {
		return bytes.NewReader(p.memory.Bytes()).ReadAt(b, at)
	}
	return p.File.ReadAt(b, at)
}

// Close removes the copy.
func (p *Spool) Close() error {
	if p.dir == nil {
		p.memory = bytes.Buffer{}
		return nil
	}
	return errors.Join(p.File.Close(), p.dir.Remove(p.name))
}
