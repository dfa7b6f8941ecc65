package durable

import (
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/store"
)

// This file is what DEBUG RELOAD and LOADAOF do. They hold every shard all the time, as Redis serves
// nobody meanwhile.

// ReloadOptions says what Reload does.
type ReloadOptions struct {
	Save  bool // the snapshot was saved by SaveLocked
	Flush bool // the keyspace is emptied first
	Merge bool // without Flush, keys of the snapshot replace others
}

var (
	errNoFiles  = errors.New("there is no directory to load from")
	errNoLog    = errors.New("there is no append-only log")
	errConflict = errors.New("a key of the snapshot exists already")

	errRewriteRuns = errors.New("another snapshot is being taken: the log is being rewritten")
)

// SaveLocked writes dump.rdb. It requires every shard.
func (s *Storage) SaveLocked() error {
	if !s.opened {
		return errNoFiles
	}
	if s.options.Torn() {
		return ErrTorn
	}
	dir, name := s.dir(), s.cfg.String("dbfilename")
	pre := s.preamble()
	temp := "temp-reload-" + strconv.Itoa(os.Getpid()) + ".rdb"
	err := disk.WriteFile(dir, name, temp, func(w io.Writer) error {
		out := s.newRDBWriter(w, false, pre)
		for i := range store.Databases {
			for n := range s.store.DB(i).All(0) { // expired ones, too, as in any snapshot
				expireAtMs, _ := n.Value.ExpireAtMs()
				if err := out.Key(i, n.Key(), expireAtMs, store.DataOf(n)); err != nil {
					return err
				}
			}
		}
		return out.Close()
	})
	if err != nil {
		s.options.Log.Warn("saving failed", "file", dir.Path(name), "error", err)
		return err
	}
	s.changes.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.lastSaveS = s.unixSeconds()
	return nil
}

// Reload loads dump.rdb. It requires every shard. If the file cannot be opened, nothing changes.
func (s *Storage) Reload(o ReloadOptions) error {
	if !s.opened {
		return errNoFiles
	}
	name := s.cfg.String("dbfilename")
	f, err := s.dir().Open(name)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	s.loads.reloading.Store(true)
	defer s.loads.reloading.Store(false)
	l := s.newLockedLoader()
	if o.Flush {
		err = l.flush()
	} else {
		l.distinct = !o.Merge
	}
	if err == nil {
		err = l.dump(name)
	}
	return err
}

// ReloadLog waits until the log is written, empties the keyspace and loads the log. It requires every
// shard.
func (s *Storage) ReloadLog() error {
	log := s.log.Load()
	if log == nil {
		return errNoLog
	}
	if s.runningRewrite() != nil {
		return errRewriteRuns
	}
	if err := log.Drain(); err != nil {
		return err
	}
	s.loads.reloading.Store(true)
	defer s.loads.reloading.Store(false)
	l := s.newLockedLoader()
	err := l.flush()
	if err == nil {
		_, err = l.loadLog(s.logOptions())
	}
	return err
}

// flush removes every key and function library.
func (l *loader) flush() error {
	for i := range store.Databases {
		l.storage.store.DB(i).Flush()
	}
	return l.apply([][]byte{[]byte("FUNCTION"), []byte("FLUSH")})
}

// newLockedLoader returns a loader for a caller who holds every shard.
func (s *Storage) newLockedLoader() *loader {
	l := s.newLoader(func() {})
	l.locked, l.progress = true, &progress{}
	return l
}

// loadLog reads the files of the log.
func (l *loader) loadLog(o aof.Options) (*aof.Loaded, error) {
	return aof.Load(o, l.storage.cfg.Bool("aof-load-truncated"), aof.Handler{
		Apply: func(args [][]byte) error {
			defer l.delay.key()
			return l.apply(args)
		},
		RDB: func(f io.ReaderAt, size int64) (end int64, err error) {
			sum, err := l.snapshot(f, size, false)
			return sum.End, err
		},
		Progress: l.report,
		Keys:     l.keys,
	})
}

// lock locks shards, unless the loader's caller holds them all.
func (l *loader) lock(shards store.ShardSet) {
	if !l.locked {
		l.storage.store.Lock(shards)
	}
}

// unlock undoes lock.
func (l *loader) unlock(shards store.ShardSet) {
	if !l.locked {
		l.storage.store.Unlock(shards)
	}
}
