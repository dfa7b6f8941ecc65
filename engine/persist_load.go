package engine

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
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// progress is how far loading has come.
type progress struct {
	beganS      int64
	done, total atomic.Int64
	told        int64 // tenths that the log has told of
}

// loadFigures is what INFO shows of the last snapshot that was read.
type loadFigures struct{ loaded, expired atomic.Int64 }

// tellBytes is the size from which on the log tells how far loading has come.
const tellBytes = 64 << 20

// Load reads what the directory holds and begins to keep what is done from now
// on. It is called once, after Open. Sessions may be there already. It calls
// begun, once, as soon as there is something that takes time to read.
func (e *Engine) Load(begun func()) error {
	p := &e.persist
	if !p.opened {
		return nil
	}
	nowS := e.unixSeconds()
	p.mu.Lock()
	p.jobs.lastSaveS = nowS
	p.mu.Unlock()
	l := e.newLoader(begun)
	var log *aof.Log
	var err error
	if e.cfg.Bool("appendonly") {
		log, err = l.log()
	} else {
		err = l.dump(e.cfg.String("dbfilename"))
	}
	if errors.Is(err, errEnding) {
		return nil
	}
	if err != nil {
		return err
	}
	e.startClock(l.instantMs)
	e.store.Lock(store.AllShards)
	e.journalTo(log)
	e.store.Unlock(store.AllShards)
	p.loading.Store(nil)
	return nil
}

// startClock lets time go on where the files leave off, if the wall is behind:
// a clock that was set back in between must not open a window twice.
func (e *Engine) startClock(instantMs int64) {
	if aheadUs := e.clock.StartAt(instantMs); aheadUs >= 1000 {
		e.logf("the clock is %d ms ahead of the system's, where the files end, and runs at half speed until they meet", aheadUs/1000)
	}
}

// A loader puts what files hold into the keyspace, past all that clients meet:
// nothing is refused, recorded, waited for or counted, and nothing expires,
// since what was deleted for that reason says so itself.
type loader struct {
	engine    *Engine
	session   *Session // for SELECT, which changes its database
	progress  *progress
	skip      bool // load-skip-unsupported
	skipped   int64
	instantMs int64
	begun     func()
	delay     delay
}

func (e *Engine) newLoader(begun func()) *loader {
	s := &Session{engine: e, peer: Peer{Owner: true}, proto: resp.RESP2, watch: new(store.Watch)}
	s.ctx.Store, s.ctx.Caller = e.store, s
	return &loader{
		engine: e, session: s, progress: e.persist.loading.Load(), skip: e.cfg.Bool("load-skip-unsupported"),
		begun: sync.OnceFunc(begun),
		delay: delay{engine: e, directive: "key-load-delay"},
	}
}

// log reads the append-only log, and opens it, or a new one, to go on with.
func (l *loader) log() (*aof.Log, error) {
	e, o := l.engine, l.engine.logOptions()
	found, err := aof.Load(o, e.cfg.Bool("aof-load-truncated"), aof.Handler{
		Apply: l.command,
		RDB: func(f io.ReaderAt, size int64) (end int64, err error) {
			sum, err := l.snapshot(f, size, false)
			return sum.End, err
		},
		Progress: l.tell,
		Keys:     l.keys,
	})
	if err != nil {
		return nil, err
	}
	l.instantMs = max(l.instantMs, found.InstantMs)
	if found.Found {
		e.logf("loaded %d keys from the append-only file (%d bytes)", e.keys(), found.Bytes)
		l.tellSkipped()
	} else if ok, _ := disk.Exists(e.dir(), e.cfg.String("dbfilename")); ok {
		e.logf("WARNING: there is no append-only file, so nothing is loaded, and %s is left alone. To begin with what it holds, "+
			"start with appendonly no, then send CONFIG SET appendonly yes", e.dir().Path(e.cfg.String("dbfilename")))
	}
	write, preamble := e.writeCommands, e.cfg.Bool("aof-use-rdb-preamble")
	if preamble {
		write = e.writeBase
	}
	return aof.Open(o, found, preamble, func(w io.Writer) error { return write(w, nil, func() {}) })
}

// dump reads a snapshot, if there is one.
func (l *loader) dump(name string) error {
	e := l.engine
	dir := e.dir()
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
		return fmt.Errorf("loading %s: %w; zlimit-server --check-rdb %s tells more", dir.Path(name), err, dir.Path(name))
	}
	e.logf("loaded %d keys from %s (%d bytes)", e.keys(), dir.Path(name), size)
	l.tellSkipped()
	return nil
}

func (l *loader) tellSkipped() {
	if l.skipped > 0 {
		l.engine.logf("WARNING: %d keys or commands were left out, as load-skip-unsupported says", l.skipped)
	}
}

// snapshot reads Redis' binary form. What has expired is left out where
// nothing follows that might want it.
func (l *loader) snapshot(f io.ReaderAt, size int64, alone bool) (rdb.Summary, error) {
	e := l.engine
	settings := e.settings.Load()
	figures := &e.persist.loaded
	figures.loaded.Store(0)
	figures.expired.Store(0)
	nowMs := e.clock.NowUs() / 1000
	h := rdb.Handler{
		Key: func(db int, key []byte, expireAtMs int64, value any) error {
			if e.persist.leaving.Load() {
				return errEnding
			}
			if alone && expireAtMs != 0 && expireAtMs < nowMs {
				figures.expired.Add(1)
				return nil
			}
			figures.loaded.Add(1)
			l.put(db, key, value, expireAtMs)
			l.delay.key()
			return nil
		},
		Function: func(code string) error {
			return l.apply([][]byte{[]byte("FUNCTION"), []byte("LOAD"), []byte(code)})
		},
		Aux: func(name, value string) error {
			if name == rdb.FieldNowMs {
				if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
					l.instantMs = max(l.instantMs, ms)
				}
			}
			return nil
		},
	}
	if alone {
		h.Progress = l.tell
	}
	sum, err := rdb.Read(f, size, rdb.ReadOptions{
		Limits: rdb.Limits{
			HashEntries: settings.HashMaxListpackCount, HashValue: settings.HashMaxListpackValue,
			SetInts:     settings.SetMaxIntsetCount,
			ZSetEntries: settings.ZSetMaxListpackCount, ZSetValue: settings.ZSetMaxListpackValue,
		},
		Skip: l.skip, NoChecksum: !e.cfg.Bool("rdbchecksum"),
	}, h)
	l.skipped += int64(sum.Skipped)
	if errors.Is(err, rdb.ErrUnsupported) {
		err = fmt.Errorf("%w (load-skip-unsupported yes leaves such keys out)", err)
	}
	return sum, err
}

// put makes a key that a snapshot holds.
func (l *loader) put(db int, key []byte, value any, expireAtMs int64) {
	st, shard := l.engine.store, store.ShardOf(key)
	st.Lock(shard)
	defer st.Unlock(shard)
	into := st.DB(db)
	n := into.Put(key, value)
	store.SetIdle(n, 0, l.engine.clock.NowUs()/1000)
	if expireAtMs != 0 {
		into.ExpireAt(n, expireAtMs)
	}
}

// command carries out one command of a log, and waits where a test wants that.
func (l *loader) command(args [][]byte) error {
	defer l.delay.key()
	return l.apply(args)
}

// apply carries out one command.
func (l *loader) apply(args [][]byte) error {
	e, s := l.engine, l.session
	if e.persist.leaving.Load() {
		return errEnding
	}
	cmd, refusal := e.table.Resolve(args)
	if cmd == nil || refusal.IsError() {
		return l.refused(args, refusal.Str())
	}
	if cmd.FullName() == "function|load" && !commands.EqualFold(args[2], "replace") {
		// The snapshot before it may have it already.
		args = append([][]byte{args[0], args[1], []byte("REPLACE")}, args[2:]...)
	}
	shards := cmd.Shards(args)
	if cmd.Locks != nil {
		shards = store.AllShards
	}
	e.store.Lock(shards)
	defer e.store.Unlock(shards)
	c := &s.ctx
	c.Reset()
	c.Unheld, c.Cmd, c.Args, c.Proto, c.Settings = ^shards, cmd, args, s.proto, e.settings.Load()
	c.NowUs, c.NowMs = 0, 0
	if countsFromNow(cmd.Name, args) {
		c.NowUs = e.clock.NowUs()
		c.NowMs = c.NowUs / 1000
	}
	c.Use(c.DBIndex)
	reply := c.Run()
	// The snapshot before it may lack a library already that it deletes; and of a
	// script that old servers have logged, what it did before it failed counts.
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
	return fmt.Errorf("the command %q cannot be carried out: %s (load-skip-unsupported yes leaves such commands out)", string(args[0]), why)
}

// countsFromNow reports whether a command that another server has logged says
// how long from now a key lives. Redis 7 writes no such command.
func countsFromNow(name string, args [][]byte) bool {
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

// keys are the keys of a command that was torn off.
func (l *loader) keys(args [][]byte) [][]byte {
	if cmd, refusal := l.engine.table.Resolve(args); cmd != nil && !refusal.IsError() {
		return cmd.AppendKeys(nil, args)
	}
	return nil
}

// tell notes how far it has come.
func (l *loader) tell(done, total int64) {
	p := l.progress
	p.done.Store(done)
	p.total.Store(total)
	l.begun()
	if tenths := done * 10 / max(total, 1); total >= tellBytes && tenths > p.told {
		p.told = tenths
		l.engine.logf("loading: %d%% of %d bytes", tenths*10, total)
	}
}

// keys counts the keys of all databases.
func (e *Engine) keys() int {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	n := 0
	for i := range store.Databases {
		n += e.store.DB(i).Len()
	}
	return n
}
