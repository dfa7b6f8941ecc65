package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/store"
)

// progress is how far loading has come.
type progress struct {
	beganS       int64        // unix seconds
	done, total  atomic.Int64 // bytes
	loggedTenths int64        // of the total, in the server's log
}

// advance notes how many bytes were loaded. It reports whether the server's log is to say so, with the
// number of tenths.
func (p *progress) advance(done, total int64) (tenths int64, log bool) {
	p.done.Store(done)
	p.total.Store(total)
	tenths = done * 10 / max(total, 1)
	if total < logProgressBytes || tenths <= p.loggedTenths {
		return tenths, false
	}
	p.loggedTenths = tenths
	return tenths, true
}

// loads is what is loaded, or was last.
type loads struct {
	running   atomic.Pointer[progress] // nil: nothing is being loaded
	reloading atomic.Bool              // DEBUG RELOAD or LOADAOF is under way, which holds every shard
	canceled  atomic.Bool

	keys, expired, skipped atomic.Int64 // of the last snapshot
}

func (l *loads) resetCounts() {
	l.keys.Store(0)
	l.expired.Store(0)
	l.skipped.Store(0)
}

// logProgressBytes is the size from which on progress is written to the server's
// log.
const logProgressBytes = 64 << 20

// Load reads the directory's files and begins to record changes. Call it once,
// after Open; sessions may exist already. It calls begun, once, when it finds
// something that takes time to read.
func (s *Storage) Load(begun func()) error {
	if !s.opened {
		return nil
	}
	nowS := s.unixSeconds()
	s.mu.Lock()
	s.jobs.lastSaveS = nowS
	s.mu.Unlock()
	l := s.newLoader(begun)
	var log *aof.Log
	var err error
	if s.cfg.Bool("appendonly") {
		log, err = l.log()
	} else {
		err = l.dump(s.cfg.String("dbfilename"))
	}
	if errors.Is(err, ErrClosing) {
		return nil
	}
	if err != nil {
		return err
	}
	s.startClock(l.instantMs)
	s.store.Lock(store.AllShards)
	s.setLog(log)
	if log == nil && l.history.ID != "" { // a log may go on beyond its snapshot
		s.options.Continue(l.history)
	}
	s.store.Unlock(store.AllShards)
	s.loads.running.Store(nil)
	return nil
}

// startClock continues time where the files end, if the system's clock is behind
// them: a clock that was set back meanwhile must not open a window twice.
func (s *Storage) startClock(instantMs int64) {
	if aheadUs := s.clock.StartAt(instantMs); aheadUs >= 1000 {
		s.options.Log.Warn("the clock is ahead of the system's, where the files end, "+
			"and runs at half speed until they meet", "ms", aheadUs/1000)
	}
}

// A loader puts what files hold into the keyspace. Unlike a client's command,
// what it runs is neither refused, recorded, delayed nor counted, and nothing
// expires: files record expired keys as deletions.
type loader struct {
	storage   *Storage
	ctx       *commands.Ctx // that commands run in; SELECT changes its database
	progress  *progress
	skip      bool // load-skip-unsupported
	skipped   int64
	instantMs int64 // the latest instant that the files name
	begun     func()
	delay     delay
	locked    bool // every shard is locked
	distinct  bool // no key and no library of a snapshot may exist

	history History // that the snapshot stands for; its ID is empty: none

	progressed func() // called now and then; may be nil
}

func (s *Storage) newLoader(begun func()) *loader {
	return &loader{
		storage: s, ctx: s.options.Replay(), progress: s.loads.running.Load(),
		skip:  s.cfg.Bool("load-skip-unsupported"),
		begun: sync.OnceFunc(begun),
		delay: delay{storage: s, directive: "key-load-delay", ended: s.loads.canceled.Load},
	}
}

// log loads the append-only log and opens it, or a new one, to append to.
func (l *loader) log() (*aof.Log, error) {
	s, o := l.storage, l.storage.logOptions()
	found, err := l.loadLog(o)
	if err != nil {
		return nil, err
	}
	l.instantMs = max(l.instantMs, found.InstantMs)
	if found.Found {
		s.options.Log.Info("loaded the append-only file", "keys", l.countKeys(), "bytes", found.Bytes)
		l.logSkipped()
	} else if ok, _ := disk.Exists(s.dir(), s.cfg.String("dbfilename")); ok {
		s.options.Log.Warn("there is no append-only file, so nothing is loaded, and the snapshot is left "+
			"alone. To begin with what it holds, start with appendonly no, then send CONFIG SET appendonly "+
			"yes",
			"file", s.dir().Path(s.cfg.String("dbfilename")))
	}
	binary, write := s.baseWriter()
	return aof.Open(o, found, binary, func(w io.Writer) error { return write(w, nil, func() {}) })
}

// dump loads a snapshot, if there is one.
func (l *loader) dump(name string) error {
	s := l.storage
	dir := s.dir()
	f, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil {
		_, err = l.snapshot(f, size, true)
	}
	if err != nil {
		path := dir.Path(name)
		return fmt.Errorf("loading %s: %w; zlimit-server --check-rdb %s tells more", path, err, path)
	}
	s.options.Log.Info("loaded the snapshot", "keys", l.countKeys(), "file", dir.Path(name), "bytes", size)
	l.logSkipped()
	return nil
}

func (l *loader) logSkipped() {
	if l.skipped > 0 {
		l.storage.options.Log.Warn("keys or commands were left out, as load-skip-unsupported says",
			"number", l.skipped)
	}
}

// snapshot reads Redis' binary form. If the snapshot is all there is and the server
// is a master, expired keys are counted as such and left out. In a history they are
// left to the first Tick, which tells replicas; commands that follow a snapshot in a
// log may refer to them.
func (l *loader) snapshot(f io.ReaderAt, size int64, alone bool) (rdb.Summary, error) {
	s := l.storage
	s.loads.resetCounts()
	nowMs := s.clock.NowUs() / 1000
	expires := alone && len(s.cfg.Strings("replicaof")) != 2
	h := rdb.Handler{
		Key: func(db int, key []byte, expireAtMs int64, value store.Value) error {
			if s.loads.canceled.Load() {
				return ErrClosing
			}
			if !expires || expireAtMs == 0 || expireAtMs >= nowMs {
				s.loads.keys.Add(1)
			} else if s.loads.expired.Add(1); l.history.ID == "" {
				return nil
			}
			if err := l.put(db, key, value, expireAtMs); err != nil {
				return err
			}
			l.delay.key()
			return nil
		},
		Function: func(code string) error {
			return l.apply([][]byte{[]byte("FUNCTION"), []byte("LOAD"), []byte(code)})
		},
		Aux: func(name, value string) error {
			l.history.note(name, value)
			if n, err := strconv.ParseInt(value, 10, 64); name == rdb.FieldNowMs && err == nil {
				l.instantMs = max(l.instantMs, n)
			}
			return nil
		},
	}
	if alone || l.progressed != nil {
		h.Progress = l.report
	}
	sum, err := rdb.Read(f, size, s.readOptions(), h)
	l.skipped += int64(sum.Skipped)
	s.loads.skipped.Store(int64(sum.Skipped))
	return sum, explainUnsupported(err)
}

// readOptions returns how the directives have a snapshot read.
func (s *Storage) readOptions() rdb.ReadOptions {
	settings := s.options.Settings()
	return rdb.ReadOptions{
		Limits: rdb.Limits{
			HashEntries: settings.HashMaxListpackCount, HashValue: settings.HashMaxListpackValue,
			SetInts:     settings.SetMaxIntsetCount,
			ZSetEntries: settings.ZSetMaxListpackCount, ZSetValue: settings.ZSetMaxListpackValue,
		},
		Skip: s.cfg.Bool("load-skip-unsupported"), NoChecksum: !s.cfg.Bool("rdbchecksum"),
	}
}

func explainUnsupported(err error) error {
	if errors.Is(err, rdb.ErrUnsupported) {
		return fmt.Errorf("%w (load-skip-unsupported yes leaves such keys out)", err)
	}
	return err
}

// put stores a key of a snapshot.
func (l *loader) put(db int, key []byte, value store.Value, expireAtMs int64) error {
	shard := store.ShardOf(key)
	l.lock(shard)
	defer l.unlock(shard)
	into := l.storage.store.DB(db)
	if l.distinct && into.Examine(key, l.storage.clock.NowUs()/1000) != nil {
		return errConflict
	}
	n := into.Put(key, value)
	into.SetIdle(n, 0, l.storage.clock.NowUs()/1000)
	if expireAtMs != 0 {
		into.ExpireAt(n, expireAtMs)
	}
	return nil
}

// apply runs one command of a log.
func (l *loader) apply(args [][]byte) error {
	s := l.storage
	if s.loads.canceled.Load() {
		return ErrClosing
	}
	cmd, refusal := s.options.Table().ResolveOwn(args)
	if cmd == nil || refusal.IsError() {
		return l.refused(args, refusal.Str())
	}
	if cmd.FullName() == "function|load" && !l.distinct && !commands.EqualFold(args[2], "replace") {
		// The snapshot before it may have it already.
		args = append([][]byte{args[0], args[1], []byte("REPLACE")}, args[2:]...)
	}
	shards := cmd.Shards(args)
	if cmd.Locks != nil {
		shards = store.AllShards
	}
	l.lock(shards)
	defer l.unlock(shards)
	c := l.ctx
	c.Reset()
	c.Unheld, c.Cmd, c.Args, c.Settings = ^shards, cmd, args, s.options.Settings()
	c.NowUs, c.NowMs = 0, 0
	if IsRelativeExpiry(cmd.Name, args) {
		c.NowUs = s.clock.NowUs()
		c.NowMs = c.NowUs / 1000
	}
	c.Use(c.DBIndex)
	reply := c.Run()
	// The snapshot before it may lack a library already that it deletes. Of a
	// failed script, which old servers log, the writes before the failure count.
	if reply.IsError() && (cmd.Group != "scripting" || cmd.Name == "load") {
		return l.refused(args, reply.Str())
	}
	return nil
}

func (l *loader) refused(args [][]byte, why string) error {
	if l.skip {
		l.skipped++
		return nil
	}
	return fmt.Errorf("the command %q cannot be carried out: %s (load-skip-unsupported yes leaves such "+
		"commands out)",
		string(args[0]), why)
}

// IsRelativeExpiry reports whether a command of another server's log says for how
// long from now a key lives. Redis 7 logs no such command.
func IsRelativeExpiry(name string, args [][]byte) bool {
	switch name {
	case "expire", "pexpire", "setex", "psetex":
		return true
	case "set", "getex":
		for _, a := range args[min(2, len(args)):] {
			if commands.EqualFold(a, "ex") || commands.EqualFold(a, "px") {
				return true
			}
		}
	}
	return false
}

// keys returns the keys of a command whose end is missing.
func (l *loader) keys(args [][]byte) [][]byte {
	if cmd, refusal := l.storage.options.Table().ResolveOwn(args); cmd != nil && !refusal.IsError() {
		return cmd.AppendKeys(nil, args)
	}
	return nil
}

// report records the progress.
func (l *loader) report(done, total int64) {
	tenths, log := l.progress.advance(done, total)
	l.begun()
	if l.progressed != nil {
		l.progressed()
	}
	if log {
		l.storage.options.Log.Info("loading", "percent", tenths*10, "bytes", total)
	}
}

// countKeys returns how many keys there are in all databases.
func (l *loader) countKeys() int {
	l.lock(store.AllShards)
	defer l.unlock(store.AllShards)
	n := 0
	for i := range store.Databases {
		n += l.storage.store.DB(i).Len()
	}
	return n
}

// note notes what a field of a snapshot says of the place in a history.
func (h *History) note(name, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case name == rdb.FieldHistory:
		h.ID = value
	case name == rdb.FieldOffset && err == nil:
		h.Offset = n
	case name == rdb.FieldStreamDB && err == nil && n >= 0 && n < store.Databases:
		h.DB = int(n)
	}
}
