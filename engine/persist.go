package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// persistence is what an engine keeps on disk: the append-only log, and
// snapshots. See docs/adr/0016-durability.md.
type persistence struct {
	opened bool // by Open

	log     atomic.Pointer[aof.Log]  // nil: appendonly no. Changed with every shard held
	fsync   atomic.Uint32            // appendfsync, an aof.Policy
	easy    atomic.Bool              // no-appendfsync-on-rewrite
	working atomic.Bool              // a job is under way
	loading atomic.Pointer[progress] // nil: nothing is being loaded
	loaded  loadFigures              // of the last snapshot read; written while loading

	// Written by every command that is recorded, beside what every command reads.
	_       [120]byte    // two cache lines: processors fetch them in pairs
	changes atomic.Int64 // since the last save
	_       [120]byte

	saveBroken atomic.Bool // see settle
	leaving    atomic.Bool // the server ends
	noSave     atomic.Bool // SHUTDOWN NOSAVE
	mustSave   atomic.Bool // SHUTDOWN SAVE

	turning sync.Mutex // held while the log is switched on or off; nobody waits for it

	// mu comes last: who holds it takes no shard and waits for no disk.
	mu       sync.Mutex
	disk     disk.FS      // protected by mu, as is what follows; nil: there is nowhere to keep anything
	release  func() error // gives the directory back; nil: it is not ours
	jobs     jobs
	starting *aof.Log    // switched on, and not yet begun
	points   []savePoint // what save says
	ended    bool        // no job begins any more
	work     sync.WaitGroup
}

// A savePoint asks for a snapshot after so many seconds, once there were so many
// changes.
type savePoint struct{ seconds, changes int64 }

// Directory keeps an engine's files in a directory of the system. It is for
// Options.Disk.
func Directory(path string) disk.FS { return disk.OS(path) }

var (
	errNoDisk     = errors.New("appendonly and save need a server that has a directory")
	errAppendOnly = errors.New("Unable to turn on AOF. Check server logs.") //nolint:revive,staticcheck // Redis' text
	errNotBegun   = errors.New("nothing can be written now")
	errEnding     = errors.New("the server ends")
)

// Open prepares for Load; until that has ended, sessions answer LOADING. Where
// files are going to be written it takes the directory, which one engine at a
// time may write to. An engine without a directory need not be opened, and is
// not where directives ask for one.
func (e *Engine) Open() error {
	p := &e.persist
	wanted := e.cfg.Bool("appendonly") || len(e.cfg.SavePoints()) > 0
	switch dir := e.dir(); {
	case dir == nil && wanted:
		return errNoDisk
	case dir == nil:
		return nil
	case wanted:
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := e.hold(); err != nil {
			return err
		}
	}
	p.opened = true
	p.loading.Store(&progress{beganS: e.unixSeconds()})
	return nil
}

// hold takes the directory, if it is not the engine's yet. It requires mu.
func (e *Engine) hold() (err error) {
	p := &e.persist
	if p.release == nil {
		p.release, err = p.disk.Lock()
	}
	return err
}

// followPersistence keeps true what is cached of the directives.
func (e *Engine) followPersistence() {
	p := &e.persist
	e.cfg.Follow(func() {
		p.fsync.Store(uint32(map[string]aof.Policy{"always": aof.Always, "no": aof.No}[e.cfg.String("appendfsync")]))
		p.easy.Store(e.cfg.Bool("no-appendfsync-on-rewrite"))
	})
	e.followSave()
	e.cfg.OnChange("save", func() {
		e.followSave()
		p.work.Go(e.rejournal) // the caller may hold shards
	})
	e.cfg.OnChange("stop-writes-on-bgsave-error", func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		e.settle()
	})
	e.cfg.OnTry("dir", e.changeDir)
	e.cfg.OnTry("appendonly", e.turnLog)
}

// logOptions say where the log is.
func (e *Engine) logOptions() aof.Options {
	return aof.Options{
		FS: e.dir(), DirName: e.cfg.String("appenddirname"), Name: e.cfg.String("appendfilename"),
		Policy: e.fsyncPolicy, Pause: e.options.Pause,
		Log: func(_ bool, text string) { e.logf("%s", text) },
	}
}

// fsyncPolicy is asked by the log with its own lock held, so it takes none.
func (e *Engine) fsyncPolicy() aof.Policy {
	p := &e.persist
	policy := aof.Policy(p.fsync.Load())
	if policy == aof.EverySec && p.easy.Load() && p.working.Load() {
		return aof.No
	}
	return policy
}

// A ledger is the engine's journal: it counts changes for the save points, and
// hands them to the log where there is one.
type ledger struct {
	persist *persistence
	log     *aof.Log // nil: they are counted only
}

func (l ledger) Append(g *effects.Group, nowMs int64) (end int64) {
	l.persist.changes.Add(int64(g.Len()))
	if l.log == nil {
		return 0
	}
	return l.log.Append(g, nowMs)
}

// rejournal begins or ends recording as the directives ask for.
func (e *Engine) rejournal() {
	e.store.Lock(store.AllShards)
	defer e.store.Unlock(store.AllShards)
	e.journalTo(e.persist.log.Load())
}

// journalTo makes log, nil for none, the one that changes go to. It requires
// AllShards.
func (e *Engine) journalTo(log *aof.Log) {
	p := &e.persist
	p.log.Store(log)
	p.mu.Lock()
	counted := len(p.points) > 0
	p.mu.Unlock()
	if log == nil && !counted {
		e.setJournal(nil)
		return
	}
	e.setJournal(ledger{p, log})
}

// turnLog is CONFIG SET appendonly. The caller may hold shards: what needs all
// of them is done beside it.
func (e *Engine) turnLog() error {
	p := &e.persist
	on := e.cfg.Bool("appendonly")
	switch {
	case e.dir() == nil && !on:
		return nil
	case !p.opened || p.loading.Load() != nil || !p.turning.TryLock():
		return errAppendOnly
	case !on && e.store.LockUnless(store.AllShards, closed):
		// At once where nobody is in the way, so that it can be switched on again.
		logs := e.leaveLog()
		e.store.Unlock(store.AllShards)
		if e.rewriting() == nil {
			p.turning.Unlock()
			p.work.Go(func() { e.closeLogs(logs) })
			return nil
		}
		p.work.Go(func() {
			e.endRewrite()
			p.turning.Unlock()
			e.closeLogs(logs)
		})
		return nil
	case !on:
		p.work.Go(func() {
			defer p.turning.Unlock()
			e.endLog()
		})
		return nil
	}
	defer p.turning.Unlock()
	p.mu.Lock()
	err := e.hold()
	p.mu.Unlock()
	var log *aof.Log
	if err == nil {
		log, err = aof.Begin(e.logOptions())
	}
	if err != nil {
		e.logf("appendonly yes: %v", err)
		return errAppendOnly
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting = log
	p.jobs.rewriteNext = true
	e.beginNext()
	return nil
}

// endLog is CONFIG SET appendonly no: a rewrite is given up, and what was
// appended until now is synced.
func (e *Engine) endLog() {
	e.store.Lock(store.AllShards)
	logs := e.leaveLog()
	e.store.Unlock(store.AllShards)
	e.endRewrite()
	e.closeLogs(logs)
}

// leaveLog takes the log away, and one that was to begin: a rewrite that begins
// from here on is not for them. It requires AllShards.
func (e *Engine) leaveLog() (logs [2]*aof.Log) {
	p := &e.persist
	p.mu.Lock()
	logs = [2]*aof.Log{p.log.Load(), p.starting}
	p.starting, p.jobs.rewriteNext = nil, false
	p.mu.Unlock()
	e.journalTo(nil)
	return logs
}

// rewriting is the rewrite under way, nil where there is none.
func (e *Engine) rewriting() *job {
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	if j := p.jobs.now; j != nil && j.kind == rewriting {
		return j
	}
	return nil
}

func (e *Engine) endRewrite() {
	if j := e.rewriting(); j != nil {
		j.giveUp()
		<-j.done
	}
}

// closeLogs is for logs that no rewrite has.
func (e *Engine) closeLogs(logs [2]*aof.Log) {
	for _, l := range logs {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, aof.ErrClosed) {
			e.logf("closing the append-only file: %v", err)
		}
	}
}

// Kept waits, under appendfsync always, until everything is on disk that the
// session's replies so far may tell of; its connection sends them only then. An
// error says that it cannot be had: what is unsent must not be sent. While the
// log fails, who has only read is answered all the same, for reading goes on.
func (s *Session) Kept() error {
	if aof.Policy(s.engine.persist.fsync.Load()) != aof.Always {
		return nil
	}
	return s.kept()
}

func (s *Session) kept() error {
	log := s.engine.persist.log.Load()
	if log == nil {
		return nil
	}
	end := log.End()
	if log.Synced() >= end {
		return nil
	}
	err := log.Wait(end, nil)
	if err != nil && (s.wroteTo != log || log.Synced() >= s.wrote) {
		return nil
	}
	return err
}

// hasWritten notes that the session's replies depend on the log up to end, 0 for
// where none is.
func (s *Session) hasWritten(end int64) {
	if end > 0 {
		s.wrote, s.wroteTo = end, s.engine.persist.log.Load()
	}
}

// logf tells the operator.
func (e *Engine) logf(format string, args ...any) {
	if e.options.Log != nil {
		e.options.Log(fmt.Sprintf(format, args...))
	}
}
