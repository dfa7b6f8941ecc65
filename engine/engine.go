package engine

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// Options are what an Engine is made of. Clock is required.
type Options struct {
	Config *config.Config // nil: the defaults
	Clock  *clock.Clock

	// Shutdown is called by SHUTDOWN, from the session that asked; nil
	// refuses the command.
	Shutdown func()

	// Log receives what scripts pass to redis.log, and what went wrong inside
	// the interpreter; nil: nobody does. It may be called concurrently.
	Log func(text string)

	// Disk is where files are kept (see Directory, Open and Load); nil: nothing
	// outlives the engine.
	Disk disk.FS

	// Chdir returns the directory that CONFIG SET dir names, to keep files in from
	// then on; nil: they stay on Disk.
	Chdir func(dir string) disk.FS

	// Delay waits for so many microseconds, for key-load-delay and
	// rdb-key-save-delay; nil: they have no effect.
	Delay func(us int64)

	// Pause is called by who writes the log before it takes what has come
	// together, except under appendfsync always: see aof.Options.
	Pause func()

	// After calls fn once, so many milliseconds of real time later, unless stop is
	// called before; nil: what is due waits for the next Tick.
	After func(ms int64, fn func()) (stop func())

	// Port is the TCP port that INFO shows; nil: none.
	Port func() int
}

// An Engine is a keyspace, a command table and the sessions that use them. It
// is safe for concurrent use.
type Engine struct {
	cfg     *config.Config
	clock   *clock.Clock
	store   *store.Store
	scripts *scripting.Engine
	table   *commands.Table
	options Options
	startUs int64
	runID   string // 40 hexadecimal digits, other ones each time

	settings atomic.Pointer[commands.Settings]
	limits   scriptLimits
	forsaken forsaken
	torn     torn
	password atomic.Pointer[string] // requirepass; empty: none is asked for

	reclaimAt int // the shard with which the next Tick goes on; its own
	evictAt   int // the same for evicting from the table of tracking

	recording recording
	tracked   tracked

	sessions registry
	broker   pubsub.Broker
	monitors monitors
	pause    pause

	stats  stats
	memory memory
	census census

	storage *durable.Storage
}

// New returns an engine with an empty keyspace.
func New(o Options) *Engine {
	if o.Config == nil {
		o.Config = config.New()
	}
	var e *Engine
	e = &Engine{
		cfg: o.Config, clock: o.Clock, options: o,
		store: store.New(),
		scripts: scripting.New(scripting.Options{
			Log:              scriptLog(o),
			Failed:           func(text string) { e.stats.fail(text) },
			Took:             func(c *commands.Command, us int64) { e.stats.calls[c.ID()].latency.add(us) },
			ErrorReplyPrefix: func() string { return o.Config.String("lua-error-reply-prefix") },
			NowUs:            o.Clock.MonotonicUs,
			BusyAfterMs:      func() int64 { return e.limits.busyAfterMs.Load() },
			MemoryLimit:      func() int64 { return e.limits.memory.Load() },
			Unwritable:       func() string { return e.storage.Misconf() },
			Interpret:        interpreterOnly(o.Config),
		}),
		startUs: o.Clock.NowUs(), runID: newRunID(),
	}
	e.storage = e.newStorage()
	e.broker.Heard = e.recording.hear
	e.sessions.byID = make(map[int64]*Session)
	e.table = commands.NewTable(
		commands.Strings, commands.Keys, commands.Dumps, commands.Expiry, commands.SortedSets, commands.SortedSetCombinations, commands.Sets, commands.Hashes, commands.Lists,
		commands.RateLimits, commands.Databases, commands.Cluster, commands.Bitmaps,
		commands.Introspection(func() *commands.Table { return e.table }),
		e.scripts.Group(),
		connectionGroup, waitGroup, lolwutGroup, clientGroup, transactionGroup, pubsub.Commands, e.serverGroup(), e.storage.Commands(),
	)
	e.scripts.SetTable(e.table)
	e.pause.engine = e
	e.stats.calls = make([]callStats, e.table.Len())
	for i := range e.stats.decisions {
		e.stats.decisions[i].init()
	}
	e.follow()
	return e
}

func newRunID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	return hex.EncodeToString(b[:])
}

// interpreterOnly follows lua-engine, without a look at the configuration for
// every script.
func interpreterOnly(c *config.Config) func() bool {
	var only atomic.Bool
	c.Follow(func() { only.Store(c.String("lua-engine") == "interpreter") })
	return only.Load
}

// scriptLog passes on what loglevel lets through; the levels of redis.log count
// from 0, debug, in its order.
func scriptLog(o Options) func(level int, text string) {
	levels := []string{"debug", "verbose", "notice", "warning"}
	return func(level int, text string) {
		if o.Log != nil && level >= slices.Index(levels, o.Config.String("loglevel")) {
			o.Log(text)
		}
	}
}

// Table returns the command table.
func (e *Engine) Table() *commands.Table { return e.table }

// Clock returns the engine's clock.
func (e *Engine) Clock() *clock.Clock { return e.clock }

// follow keeps the cached directives true.
func (e *Engine) follow() {
	e.cfg.Follow(func() {
		e.settings.Store(&commands.Settings{
			ProtoMaxBulkLen:      e.cfg.Int("proto-max-bulk-len"),
			HashMaxListpackCount: e.cfg.Int("hash-max-listpack-entries"),
			HashMaxListpackValue: e.cfg.Int("hash-max-listpack-value"),
			SetMaxIntsetCount:    e.cfg.Int("set-max-intset-entries"),
			ZSetMaxListpackCount: e.cfg.Int("zset-max-listpack-entries"),
			ZSetMaxListpackValue: e.cfg.Int("zset-max-listpack-value"),
			RLLogMaxUnits:        e.cfg.Int("rl-log-max-units"),
			RDBCompression:       e.cfg.Bool("rdbcompression"),
		})
		e.limits.busyAfterMs.Store(e.cfg.Int("busy-reply-threshold"))
		e.limits.memory.Store(e.cfg.Int("lua-memory-limit"))
		password := e.cfg.String("requirepass")
		e.password.Store(&password)
		e.broker.Limits.Normal.Store(e.cfg.OutputBufferLimit(config.ClassNormal).HardBytes)
		e.broker.Limits.Subscriber.Store(e.cfg.OutputBufferLimit(config.ClassPubSub).HardBytes)
		e.tracked.maxKeys.Store(e.cfg.Int("tracking-table-max-keys"))
		e.recording.notify(pubsub.WantedEvents(e.cfg.Events("notify-keyspace-events")))
	})
}

// Tick does what has to be done now and then: the clock follows the wall, and
// due keys are reclaimed. The owner of the engine calls it hz times a second, one
// call at a time.
func (e *Engine) Tick() {
	e.clock.Sync()
	e.pause.pass()
	e.storage.Tick()
	e.reclaimSome()
	e.dropForsaken()
	e.tickTracked()
	e.count()
	e.sampleRates()
	e.notePeak(e.MemoryUse().Used())
}

// registry is the sessions that exist, by id.
type registry struct {
	mu     sync.Mutex
	byID   map[int64]*Session
	lastID int64
}

func (r *registry) add(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID++
	s.id = r.lastID
	r.byID[s.id] = s
}

// remove reports whether the session was still there.
func (r *registry) remove(s *Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.byID[s.id]
	delete(r.byID, s.id)
	return ok
}

// find returns the session with an id, nil where there is none.
func (r *registry) find(id int64) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// all returns the sessions in the order in which they came.
func (r *registry) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.byID))
	for _, s := range r.byID {
		out = append(out, s)
	}
	sortByID(out)
	return out
}

// CountRejected counts a connection that was turned away before it became a
// session, for INFO.
func (e *Engine) CountRejected() { e.stats.turnedAway.Add(1) }

// Sessions returns how many sessions there are.
func (e *Engine) Sessions() int {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	return len(e.sessions.byID)
}
