package engine

import (
	"io"
	"os"
	"strconv"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/rdb"
)

// syncBytes is after how much a file that is being written is synced where the
// directives ask for it, so that the sync at its end does not hold up those of
// the log.
const syncBytes = 4 << 20

// save writes dump.rdb.
func (e *Engine) save(stop <-chan struct{}) error {
	p := &e.persist
	dir, name := e.dir(), e.cfg.String("dbfilename")
	var changes int64
	err := disk.WriteFile(dir, name, "temp-"+strconv.Itoa(os.Getpid())+".rdb", func(w io.Writer) error {
		return e.writeSnapshot(e.syncing(w, "rdb-save-incremental-fsync"), false, stop, func() { changes = p.changes.Load() })
	})
	if err != nil {
		e.logf("saving %s failed: %v", dir.Path(name), err)
		return err
	}
	p.changes.Add(-changes)
	e.logf("%s saved", dir.Path(name))
	return nil
}

// An instant is what a snapshot holds besides keys, taken with every shard held
// and written later.
type instant struct {
	nowUs     int64
	libraries []string
}

func (e *Engine) instant() instant { return instant{e.clock.NowUs(), e.scripts.Libraries()} }

// writeSnapshot writes the keyspace of one instant to w, in Redis' binary form,
// beside the traffic. begin is called at the instant, with every shard held.
func (e *Engine) writeSnapshot(w io.Writer, base bool, stop <-chan struct{}, begin func()) error {
	var at instant
	var out *rdb.Writer
	slow := delay{engine: e, directive: "rdb-key-save-delay"}
	head := func() {
		if out == nil {
			out = e.head(w, base, at)
		}
	}
	err := e.snapshot(stop, func() {
		begin()
		at = e.instant()
	}, func(k snapshotKey) error {
		head()
		slow.key()
		return out.Key(k.DB, k.Key, k.ExpireAtMs, k.Value)
	})
	if err != nil {
		return err
	}
	head()
	return out.Close()
}

// head begins a file in Redis' binary form.
func (e *Engine) head(w io.Writer, base bool, at instant) *rdb.Writer {
	fields := []rdb.Field{
		{Name: rdb.FieldVersion, Value: RedisVersion},
		{Name: rdb.FieldBits, Value: "64"},
		{Name: rdb.FieldCreated, Value: strconv.FormatInt(at.nowUs/1_000_000, 10)},
		{Name: rdb.FieldNowMs, Value: strconv.FormatInt(at.nowUs/1000, 10)},
	}
	if base {
		fields = append(fields, rdb.Field{Name: rdb.FieldAOFBase, Value: "1"})
	}
	out := rdb.NewWriter(w, rdb.WriterOptions{
		Compress: e.cfg.Bool("rdbcompression"), Checksum: e.cfg.Bool("rdbchecksum"), Fields: fields,
	})
	for _, code := range at.libraries {
		_ = out.Function(code) // Writer keeps its errors
	}
	return out
}

// rewrite writes the log anew: see package aof for the three steps. The snapshot
// has its instant inside of its own course, so it runs beside Finish.
func (e *Engine) rewrite(stop <-chan struct{}) error {
	log, end, err := e.logToRewrite()
	if err != nil {
		return err
	}
	defer end()
	if err := log.Prepare(); err != nil {
		return err
	}
	r, w := io.Pipe()
	begun := make(chan struct{})
	done := make(chan struct{})
	var failed error
	preamble := e.cfg.Bool("aof-use-rdb-preamble")
	go func() {
		defer close(done)
		begin := func() {
			log.Switch()
			e.logBegins(log)
			close(begun)
		}
		write := e.writeCommands
		if preamble {
			write = e.writeBase
		}
		failed = write(w, stop, begin)
		w.CloseWithError(failed)
	}()
	select {
	case <-begun:
	case <-done:
	}
	select {
	case <-begun:
	default:
		log.Abort()
		return failed
	}
	err = log.Finish(preamble, func(w io.Writer) error {
		_, err := io.Copy(e.syncing(w, "aof-rewrite-incremental-fsync"), r)
		return err
	})
	_ = r.CloseWithError(err) // the walk goes on to its end, and must not wait
	<-done
	return err
}

func (e *Engine) writeBase(w io.Writer, stop <-chan struct{}, begin func()) error {
	return e.writeSnapshot(w, true, stop, begin)
}

// logToRewrite is the log that a rewrite is for, and what is to be done at its
// end: one that was just switched on; the one that is; or, for BGREWRITEAOF
// while appendonly is no, one that is there for the rewrite alone.
func (e *Engine) logToRewrite() (log *aof.Log, end func(), err error) {
	p := &e.persist
	p.mu.Lock()
	log = p.starting
	p.mu.Unlock()
	if log == nil {
		log = p.log.Load()
	}
	if log != nil {
		return log, func() {}, nil
	}
	if log, err = aof.Begin(e.logOptions()); err != nil {
		return nil, nil, err
	}
	return log, func() { _ = log.Close() }, nil // nothing was appended
}

// logBegins makes the log that was switched on the engine's, from the instant of
// its first rewrite. It requires AllShards.
func (e *Engine) logBegins(log *aof.Log) {
	p := &e.persist
	p.mu.Lock()
	begins := p.starting == log
	if begins {
		p.starting = nil
	}
	p.mu.Unlock()
	if begins {
		e.journalTo(log)
	}
}

// syncing syncs what is written to w now and then, where the directive asks for
// it and w is a file.
func (e *Engine) syncing(w io.Writer, directive string) io.Writer {
	f, ok := w.(syncer)
	if !ok || !e.cfg.Bool(directive) {
		return w
	}
	return &syncingWriter{syncer: f}
}

type syncer interface {
	io.Writer
	Sync() error
}

type syncingWriter struct {
	syncer
	unsynced int
}

func (w *syncingWriter) Write(b []byte) (int, error) {
	n, err := w.syncer.Write(b)
	if w.unsynced += n; err == nil && w.unsynced >= syncBytes {
		w.unsynced, err = 0, w.Sync()
	}
	return n, err
}
