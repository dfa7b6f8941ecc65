package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/introspection"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/accounts"
	"github.com/zlimit/zlimit/engine/cluster"
	"github.com/zlimit/zlimit/engine/debug"
	"github.com/zlimit/zlimit/engine/doctor"
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/room"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

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
	e.life.startUs, e.life.runID = o.Clock.NowUs(), replication.NewID()
	e.life.node = cluster.NewSelf(cfg, e.port, func() int64 { return e.repl.stream.Position().Offset })
	e.life.cluster = cfg.Bool("cluster-enabled")
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
	e.pause.Init(pause.Options{Clock: e.clock, Store: e.store, After: o.After, Over: e.locks.waits.kick})
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

// initTracking connects the state of CLIENT TRACKING with the sessions.
func (e *Engine) initTracking() {
	e.recording.tracking.Init(&e.broker,
		func(id int64) *pubsub.Subscriber {
			if s := e.sessions.find(id); s != nil {
				return &s.inbox.subscriber
			}
			return nil
		},
		func() (out []*tracking.Mode) {
			for _, s := range e.sessions.all() {
				if mode := s.shown.view().tracking; mode != nil {
					out = append(out, mode)
				}
			}
			return out
		},
		func(on bool) { e.recording.want(effects.Tracked, on) })
}

// roomOptions returns what package room needs of an engine that is complete but for it.
func (e *Engine) roomOptions() room.Options {
	return room.Options{
		Config: e.cfg.View, Clock: e.clock, Store: e.store, Pause: e.options.Pause, After: e.options.After,
		Buffers: &e.sessions.buffers, Mail: &e.sessions.mail,
		Others: func() int64 {
			m := e.MemoryUse()
			return m.Startup + m.Scripts + m.Functions + m.Observers() + m.Backlog +
				int64(e.Sessions())*sessionBytes
		},
		Loading:    e.storage.Loading,
		Suspended:  func() bool { return e.scripts.Busy() != nil || e.pause.On() },
		Replica:    func() bool { return e.repl.link.Load() != nil },
		BusyChange: e.scripts.BusyChange, Torn: e.locks.torn.has,
		Record: e.recordStep, Commit: e.commitStep, Event: e.slow.event, Changed: e.locks.waits.changed,
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

// scriptLog returns the function of redis.log, whose levels are those of loglevel, in order; debug is 0.
func scriptLog(l *slog.Logger) func(level int, text string) {
	levels := []slog.Level{logging.Debug, logging.Verbose, logging.Notice, logging.Warning}
	return func(level int, text string) { l.Log(context.Background(), levels[level], text) }
}

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

// Tick does the background work: the clock follows the system's, expired keys are reclaimed, files are synced
// and saved. Call it hz times a second, one call at a time.
func (e *Engine) Tick() {
	e.clock.Sync()
	e.pause.Expire()
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
