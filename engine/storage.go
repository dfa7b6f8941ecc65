package engine

import (
	"errors"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/store"
)

// Directory returns the files of a directory of the system, for Options.Disk.
func Directory(path string) disk.FS { return disk.OS(path) }

// newStorage returns the storage of a new engine, whose table need not exist yet.
func (e *Engine) newStorage() *durable.Storage {
	return durable.New(durable.Options{
		Config: e.cfg.View, Clock: e.clock, Store: e.store,
		Disk: e.options.Disk, Chdir: e.options.Chdir,
		Delay: e.options.Delay, Pause: e.options.Pause, Turn: e.options.Turn, Log: e.options.Log,
		Took: e.slow.event,
		Record: func(j *durable.Journal) {
			if j == nil {
				e.recording.setJournal(nil)
			} else {
				e.recording.setJournal(j)
			}
		},
		LockAll:   func() bool { return e.locks.lockUnlessBusy(nil, store.AllShards) == nil },
		Torn:      e.locks.torn.any,
		Libraries: e.scripts.Libraries, CheckLibrary: e.scripts.CheckLibrary,
		History:  e.repl.history,
		Continue: e.continueHistory,
		Table:    e.Table,
		Settings: e.cfg.settings.Load,
		Replay: func() *commands.Ctx {
			s := &Session{engine: e, peer: Peer{Owner: true}}
			s.tx.watch = new(store.Watch)
			s.connect()
			e.newWork().serve(s)
			s.work.ctx.Env.Preserve(true)
			s.work.ctx.Proto, s.work.ctx.Mode = s.answers.proto, commands.Replayed
			return &s.work.ctx
		},
	})
}

// LoadFiles reads the users of the configuration or of the ACL file, and the policies. It is called before
// there are sessions.
func (e *Engine) LoadFiles() error {
	if errs := e.accounts.Load(); len(errs) > 0 {
		return errs[0]
	}
	return e.cfg.policies.Load()
}

// Policies returns the policies of rl-policies, or nil if that names no files. They are replaced as a whole.
func (e *Engine) Policies() *policy.Set { return e.cfg.policies.Set() }

// LoadPolicies reads the files of rl-policies again. If one has an error, the policies stay as they are. It
// reports false if rl-policies names none.
func (e *Engine) LoadPolicies() (read bool, err error) {
	return e.cfg.String("rl-policies") != "", e.cfg.policies.Load()
}

// CheckConfig returns the errors of rename-command, of cluster-enabled, of the users and of the policies,
// with which no server starts. It is called instead of LoadFiles and Open.
func (e *Engine) CheckConfig() []error {
	errs := e.accounts.Load()
	if err := e.cfg.policies.Load(); err != nil {
		errs = append(errs, err)
	}
	if e.life.refusal != nil {
		errs = append(errs, e.life.refusal)
	}
	return errs
}

// Open prepares for Load; until that has returned, sessions answer LOADING. If the directives ask for files,
// Open locks the directory: one engine at a time may write to it. Open fails if there is no directory but the
// directives ask for one, and if rename-command or what goes with cluster-enabled is wrong. An engine without
// a directory need not be opened.
func (e *Engine) Open() error {
	if e.life.refusal != nil {
		return e.life.refusal
	}
	if err := e.storage.Open(); err != nil {
		return err
	}
	return e.life.node.Open(e.options.Disk)
}

// Load reads the directory's files and begins to record changes. Call it once, after Open; sessions may exist
// already. It calls begun, once, when it finds something that takes time to read.
func (e *Engine) Load(begun func()) error {
	e.startFollowing()
	if err := e.storage.Load(begun); err != nil {
		return err
	}
	return e.checkDatabases()
}

// checkCluster returns an error if the directives ask for what a node of a cluster refuses.
func (e *Engine) checkCluster() error {
	switch {
	case !e.cfg.Bool("cluster-enabled"):
	case len(e.cfg.Strings("replicaof")) > 0:
		return errClusterReplica
	case e.cfg.String("upstream") != "":
		return errClusterUpstream
	}
	return nil
}

// checkDatabases returns an error if a node of a cluster has loaded keys of another database than 0.
func (e *Engine) checkDatabases() error {
	for i := 1; i < store.Databases && e.cfg.Bool("cluster-enabled"); i++ {
		if e.store.DB(i).Len() > 0 {
			return errClusterDatabases
		}
	}
	return nil
}

// WaitDurable blocks, under appendfsync always, until every write that the session's replies depend on is on
// disk. If it returns an error, replies that have not been sent must not be. It returns nil to a session that
// has written nothing which is not on disk, even while the log fails: reading goes on.
func (s *Session) WaitDurable() error {
	e := s.engine
	return e.WaitDurable(e.Unsynced(), s.wrote.log, s.ending.canceler)
}

// A LogPosition is a place in the append-only log. The zero LogPosition is in no log.
type LogPosition = durable.Position

// Unsynced returns the position of the log that WaitDurable would wait for, the zero one if it would return
// at once for every session.
func (e *Engine) Unsynced() LogPosition { return e.storage.Unsynced() }

// WaitDurable is like Session.WaitDurable, for replies that were complete when Unsynced returned upTo, of a
// session whose Written was written. It may be in use again.
func (e *Engine) WaitDurable(upTo, written LogPosition, c durable.Canceler) error {
	return e.storage.WaitDurable(upTo, written, c)
}

// WaitForSpace blocks while too much of the log waits for the disk, as commands that
// write do. It reports false if c has ended the wait.
func (e *Engine) WaitForSpace(c durable.Canceler) bool { return e.storage.WaitForSpace(c) }

// Cancel makes c end the session's waits for the disk. A command that does not run
// for that reason makes Canceled report true.
func (s *Session) Cancel(c durable.Canceler) { s.ending.canceler, s.ending.canceled = c, false }

// Canceled reports whether a command did not run since Cancel was called, because
// its Canceler ended the wait for the disk.
func (s *Session) Canceled() bool { return s.ending.canceled }

// InExec reports whether the command under way is one of EXEC's. It is for package durable.
func (s *Session) InExec() bool { return s.inbox.subscriber.InExec }

// Written returns where the session's own writes end in the log. It is for package durable.
func (s *Session) Written() durable.Position { return s.wrote.log }

// Errors of cluster-enabled.
var (
	errClusterReplica  = errors.New("replicaof directive not allowed in cluster mode")
	errClusterUpstream = errors.New("cluster-enabled and upstream exclude each other: " +
		"a gateway stands for its nodes")
	errClusterDatabases = errors.New("cluster-enabled: a cluster has database 0 only, and others have keys")
)

// Errors of Ready.
var (
	ErrNotLoaded = errors.New("loading")
	ErrMisconf   = errors.New("misconf: changes cannot be kept, so that commands that write are refused")
	ErrEnding    = errors.New("shutting down")
)

// Ready returns nil if the engine takes commands that write, as far as it is for the
// engine to say: its files are loaded, changes can be kept, and it is not ending.
func (e *Engine) Ready() error {
	switch {
	case e.life.ending.Load():
		return ErrEnding
	case e.storage.Loading():
		return ErrNotLoaded
	case e.storage.Failing():
		return ErrMisconf
	}
	return nil
}
