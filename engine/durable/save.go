package durable

import (
	"io"
	"os"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/rdb"
)

// writeDump writes dump.rdb. It is the save job.
func (s *Storage) writeDump(stop <-chan struct{}) error {
	dir, name := s.dir(), s.cfg.String("dbfilename")
	var changes int64
	writeFile := disk.WriteFile
	if s.cfg.Bool("rdb-save-incremental-fsync") {
		writeFile = disk.WriteFileInPieces
	}
	err := writeFile(dir, name, "temp-"+strconv.Itoa(os.Getpid())+".rdb", func(w io.Writer) error {
		return s.writeSnapshot(w, false, stop, func() { changes = s.changes.Load() })
	})
	if err != nil {
		s.options.Log.Warn("saving failed", "file", dir.Path(name), "error", err)
		return err
	}
	s.changes.Add(-changes)
	s.options.Log.Info("saved", "file", dir.Path(name))
	return nil
}

// A preamble is what a file holds before the keys. It is taken at the snapshot's
// instant, with every shard locked, and written later.
type preamble struct {
	nowUs     int64
	libraries []string
	history   []rdb.Field
}

func (s *Storage) preamble() preamble {
	return s.preambleAt(s.options.History())
}

// preambleAt is preamble of keys that stand for a place in a history, if ok.
func (s *Storage) preambleAt(h History, ok bool) preamble {
	out := preamble{nowUs: s.clock.NowUs(), libraries: s.options.Libraries()}
	if ok {
		out.history = []rdb.Field{
			{Name: rdb.FieldStreamDB, Value: strconv.Itoa(h.DB)},
			{Name: rdb.FieldHistory, Value: h.ID},
			{Name: rdb.FieldOffset, Value: strconv.FormatInt(h.Offset, 10)},
		}
	}
	return out
}

// A snapshotWriter writes the keyspace of one instant to w, while commands run.
// It calls begin at the instant, with every shard locked. stop, if not nil, ends
// it early.
type snapshotWriter func(w io.Writer, stop <-chan struct{}, begin func()) error

// writeSnapshot is a snapshotWriter of Redis' binary form; base says that the
// file is the base of a log.
func (s *Storage) writeSnapshot(w io.Writer, base bool, stop <-chan struct{}, begin func()) error {
	return s.writeSnapshotAt(w, base, stop, func() (History, bool) {
		begin()
		return s.options.History()
	})
}

// writeSnapshotAt is writeSnapshot if begin returns the place in a history that the snapshot stands for.
func (s *Storage) writeSnapshotAt(
	w io.Writer, base bool, stop <-chan struct{}, begin func() (History, bool),
) error {
	var pre preamble
	var out *rdb.Writer
	slow := delay{
		storage: s, directive: "rdb-key-save-delay", ended: func() bool { return isClosed(stop) },
	}
	writePreamble := func() {
		if out == nil {
			out = s.newRDBWriter(w, base, pre)
		}
	}
	err := s.snapshot(stop, func() {
		pre = s.preambleAt(begin())
	}, rdb.NewKeyEncoder(s.cfg.Bool("rdbcompression")), func(k Key) error {
		writePreamble()
		slow.key()
		if k.encoded != nil {
			return out.Encoded(k.DB, k.encoded)
		}
		return out.Key(k.DB, k.Name, k.ExpireAtMs, k.Value)
	})
	if err != nil {
		return err
	}
	writePreamble()
	return out.Close()
}

// newRDBWriter starts a file in Redis' binary form.
func (s *Storage) newRDBWriter(w io.Writer, base bool, pre preamble) *rdb.Writer {
	fields := []rdb.Field{
		{Name: rdb.FieldVersion, Value: commands.RedisVersion},
		{Name: rdb.FieldBits, Value: "64"},
		{Name: rdb.FieldCreated, Value: strconv.FormatInt(pre.nowUs/1_000_000, 10)},
		{Name: rdb.FieldNowMs, Value: strconv.FormatInt(pre.nowUs/1000, 10)},
	}
	fields = append(fields, pre.history...)
	if base {
		fields = append(fields, rdb.Field{Name: rdb.FieldAOFBase, Value: "1"})
	}
	out := rdb.NewWriter(w, rdb.WriterOptions{
		Compress: s.cfg.Bool("rdbcompression"), Checksum: s.cfg.Bool("rdbchecksum"), Fields: fields,
	})
	for _, code := range pre.libraries {
		_ = out.Function(code) // Writer keeps its errors
	}
	return out
}
