package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/introspection"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/accounts"
	"github.com/zlimit/zlimit/engine/cluster"
	"github.com/zlimit/zlimit/engine/debug"
	"github.com/zlimit/zlimit/engine/doctor"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/faults"
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/room"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// Options configures an Engine. Clock is required.
type Options struct {
	Config *config.Config // nil: the defaults
	Clock  *clock.Clock

	// Shutdown is called by SHUTDOWN, on the goroutine of the session. If it is nil,
	// SHUTDOWN is refused.
	Shutdown func()

	// Log receives the server's log and what scripts pass to redis.log, as far as
	// loglevel admits. If it is nil, both are dropped.
	Log *slog.Logger

	// Disk is the directory of the files; see Directory, Open and Load. If it is
	// nil, nothing outlives the engine.
	Disk disk.FS

	// Chdir returns the directory that CONFIG SET dir names. If it is nil, dir
	// cannot be changed.
	Chdir func(dir string) disk.FS

	// Delay waits us microseconds, for key-load-delay and rdb-key-save-delay. If it
	// is nil, they have no effect.
	Delay func(us int64)

	// Pause yields the processor for a moment: in long walks through the keyspace,
	// and before the log is written (see aof.Options). It may be nil.
	Pause func()

	// Turn returns once everything has run that had arrived when it was called.
	// Snapshots call it between their steps, and the log's writer before a sync under
	// appendfsync always. If it is nil, snapshots call Pause, and the log does not wait.
	Turn func()

	// After calls fn once, ms milliseconds of real time later, unless stop is called
	// before. If it is nil, what is due waits for the next Tick.
	After func(ms int64, fn func()) (stop func())

	// FreeMemory returns unused memory to the system, for MEMORY PURGE. It may be called
	// concurrently. If it is nil, the collector does so at its own time.
	FreeMemory func()

	// Dial connects to a master, at host:port. It returns soon after stop is closed. If it is
	// nil, the engine cannot be a replica.
	Dial func(addr string, stop <-chan struct{}) (io.ReadWriteCloser, error)

	// Upstream has the keys instead of the engine. It may be nil.
	Upstream Upstream
}

// An Engine is a keyspace, a command table and the sessions that use them. Its
// methods may be called concurrently unless they say otherwise.
type Engine struct {
	cfg     directives
	clock   *clock.Clock
	store   *store.Store
	scripts *scripting.Engine
	table   *commands.Table
	options Options // whose Log is limited by loglevel

	life life

	locks locks

	faults faults.Set // of DEBUG FAULT and package zlimittest

	recording recording

	accounts accounts.Accounts

	sessions  registry
	broker    pubsub.Broker
	observers observers
	pause     pause

	room  room.Keeper
	stats stats.Stats

	slow slow

	storage *durable.Storage
	repl    replicating
}

// New returns an engine with an empty keyspace.
func New(o Options) *Engine {
	if o.Config == nil {
		o.Config = config.New()
	}
	cfg := o.Config.View()
	o.Log = Logger(cfg, o.Log)
	var e *Engine
	e = &Engine{
		cfg: directives{View: cfg}, clock: o.Clock, options: o,
		store: store.New(),
		scripts: scripting.New(scripting.Options{
			Log:      scriptLog(o.Log),
			OnError:  func(text string) { e.stats.Errors.Count(text) },
			Measures: func(c *commands.Command) bool { return e.slow.measures(c) },
			OnCallTime: func(c *commands.Ctx, us int64, sampled bool) {
				e.scriptCallTime(c, us, sampled)
			},
			ErrorReplyPrefix: func() string { return o.Config.String("lua-error-reply-prefix") },
			NowUs:            o.Clock.MonotonicUs,
			WriteRefusal:     func() string { return e.writeRefusal() },
			StaleRefusal:     func() string { return e.staleRefusal() },
		}),
	}
	e.cfg.policies.Init(cfg, o.Log, e.cfg.followPolicies)
	e.life.startUs, e.life.runID = o.Clock.NowUs(), newRunID()
	e.life.node = cluster.NewSelf(cfg, e.port, func() int64 { return e.repl.stream.Position().Offset })
	if cfg.Bool("cluster-enabled") {
		e.life.always |= inCluster
	}
	e.locks.store, e.locks.scripts = e.store, e.scripts
	e.slow.clock, e.slow.longestGC = o.Clock, process.LongestGCPause
	e.storage = e.newStorage()
	e.initReplication()
	e.broker.Heard = e.recording.hear
	e.initTracking()
	e.sessions.byID = make(map[int64]*Session)
	e.table = commands.NewTable(
		commands.Strings, commands.Keys, commands.Dumps, commands.Expiry,
		commands.SortedSets, commands.SortedSetCombinations, commands.Sets, commands.Hashes, commands.Lists,
		rl.Commands, commands.Databases(e.storage.CancelSave, e.clock.NowUs),
		cluster.Commands(func(c *commands.Ctx) *cluster.View { return e.life.node.View(caller(c).peer.TLS) }),
		commands.Bitmaps,
		commands.Modules,
		introspection.Commands(func() *commands.Table { return e.table }),
		e.scripts.Commands(),
		connectionGroup, clientGroup, transactionGroup,
		commands.Lolwut, pubsub.Commands,
		e.accounts.Commands(), e.serverGroup(), memory.Commands(e.memoryDoctor, e.memoryStats, o.FreeMemory),
		e.storage.Commands(), e.replicationGroup(),
		[]commands.Command{e.cfg.policies.Row()},
		doctor.Commands(func() *doctor.Doctor { return e.observers.doctor }), e.observers.traces.Commands(),
		[]commands.Command{
			e.stats.Command(func(c *commands.Ctx) { caller(c).Count() }, e.cfg.policies.Stats),
		},
	)
	e.observers.doctor = doctor.New(e.table)
	e.life.refusal = errors.Join(rename(e.table, o.Config.Renames()), e.checkCluster())
	e.scripts.SetTable(e.table)
	e.followUpstream()
	e.accounts.Init(accounts.Options{
		Config: cfg, Log: o.Log, Table: e.table, RunID: e.life.runID,
		Caller: func(c *commands.Ctx) accounts.Caller { return &caller(c).who },
	})
	e.pause.engine = e
	e.locks.waits.init(e)
	e.stats.Init(e.table.Len())
	e.stats.Sampler.Init(e.store, e.clock, e.scripts.BusyChange, o.Pause)
	e.follow()
	e.room.Init(e.roomOptions())
	return e
}

// serverGroup returns the rows of commands about the server.
func (e *Engine) serverGroup() []commands.Command {
	return []commands.Command{
		debug.Command(e.debugHandlers()), e.configCommand(), e.infoCommand(),
		e.slow.events.Row(e.latencyHistogram), monitorCommand, e.shutdownCommand(), e.slow.log.Row(),
	}
}

// rename applies the lines rename-command, until one is wrong.
func rename(t *commands.Table, renames []config.Rename) error {
	for _, r := range renames {
		if err := t.Rename(r.From, r.To); err != nil {
			return r.Refused(err)
		}
	}
	return nil
}

// Logger returns a logger that passes records to l, as far as loglevel admits, now and
// after CONFIG SET. A nil l drops them.
func Logger(c *config.View, l *slog.Logger) *slog.Logger {
	if l == nil {
		return logging.AtLeast(nil, logging.Nothing)
	}
	level := new(slog.LevelVar)
	c.Follow(func() { level.Set(logging.Level(c.String("loglevel"))) })
	return logging.AtLeast(l, level)
}

// scriptLog returns the function of redis.log, whose levels are those of loglevel, in
// order; debug is 0.
func scriptLog(l *slog.Logger) func(level int, text string) {
	levels := []slog.Level{logging.Debug, logging.Verbose, logging.Notice, logging.Warning}
	return func(level int, text string) { l.Log(context.Background(), levels[level], text) }
}

// Table returns the command table.
func (e *Engine) Table() *commands.Table { return e.table }

// Faults returns the failures that tests have injected.
func (e *Engine) Faults() *faults.Set { return &e.faults }

// Clock returns the engine's clock.
func (e *Engine) Clock() *clock.Clock { return e.clock }

// follow caches directives, now and whenever one changes.
func (e *Engine) follow() {
	e.cfg.Follow(func() {
		sampling := uint32(0)
		if e.cfg.Bool("rl-top") {
			sampling = uint32(e.cfg.Int("rl-top-sampling"))
		}
		e.stats.Top.SetSampling(sampling)
		var prefixes commands.PrefixIndex
		if p := e.stats.SetPrefixes(e.cfg.Strings("rl-stats-prefix")); p != nil {
			prefixes = p
		}
		e.cfg.refresh(sampling, prefixes, room.EvictsByUse(e.cfg.View))
		e.repl.follow(e.cfg.View)
		e.scripts.SetLimits(e.cfg.Int("busy-reply-threshold"), e.cfg.Int("lua-memory-limit"))
		e.slow.follow(e.cfg.Int("slowlog-log-slower-than"), e.cfg.Int("slowlog-max-len"),
			e.cfg.Int("latency-monitor-threshold"))
		e.broker.Limits.Normal.Store(e.cfg.OutputBufferLimit(config.ClassNormal).HardBytes)
		e.broker.Limits.Subscriber.Store(e.cfg.OutputBufferLimit(config.ClassPubSub).HardBytes)
		e.sessions.limit.Store(clientLimit(e.cfg.Int("maxmemory-clients"), e.cfg.Int("maxmemory")))
		e.observers.doctor.Set(e.cfg.Bool("rl-doctor"))
		e.recording.tracking.MaxKeys.Store(e.cfg.Int("tracking-table-max-keys"))
		e.recording.notify(pubsub.WantedEvents(e.cfg.Events("notify-keyspace-events")))
	})
}

// Tick does the background work: the clock follows the system's, expired keys are
// reclaimed, files are synced and saved. Call it hz times a second, one call at a
// time.
func (e *Engine) Tick() {
	e.clock.Sync()
	e.pause.expire()
	e.storage.Tick()
	e.tickReplication()
	e.room.Tick()
	e.locks.waits.tick()
	e.locks.removeOrphans()
	if e.recording.tracks() {
		e.recording.tracking.Tick(e.store)
	}
	e.observers.doctor.Tick(e.store, e.clock.NowUs()/1000)
	e.stats.Sampler.Tick(int(e.cfg.Int("hz")))
	e.stats.SampleRates(e.clock.MonotonicUs())
	e.slow.sampleGC()
	e.sessions.evict()
	e.stats.NoteUse(e.MemoryUse().Used())
}

// Sessions returns how many sessions there are.
func (e *Engine) Sessions() int { return e.sessions.len() }
