// Package engine runs commands for sessions: it is the whole server without
// sockets. A session has what belongs to a connection (its name, its database, its
// protocol, the queue of a transaction); Do runs one command.
//
// # The life of a command
//
// Do looks the row up, checks arity, authentication and the transaction state, locks the shards of the
// command's keys, reads the clock once, calls the handler, and unlocks. EXEC does the same once for all
// queued commands. Handlers themselves (package commands, and the groups of this package and of scripting)
// neither lock nor read a clock.
//
// engine.go, session.go, work.go and blocked.go say what an engine, a session, its
// commands and its waits consist of; new.go and opening.go make them. The way of a
// command is dispatch.go, admission.go, executor.go, keyspace.go. Below are parts of
// an engine that know neither it nor its sessions, such as slow.go and life.go.
//
// The groups that need a session or the whole engine are here: connection.go (AUTH, HELLO, SELECT, ...),
// client.go (CLIENT), transaction.go (MULTI, ...), config_commands.go (CONFIG), info.go (INFO), debug.go
// (DEBUG), shutdown.go. What is kept on disk is in package durable, users in accounts, eviction and the
// reclaiming of expired keys in room, subscriptions and mailboxes in pubsub, tracked keys in tracking,
// postponed commands in pause, counters in stats, and what the process says of itself in process. Packages
// info, memory, debug, slowlog, latency, traces and doctor make replies from facts or state of their own;
// logins decides how guessing is slowed.
//
// This package is internal to zlimit: it may change in any release.
package engine

import (
	"io"
	"log/slog"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/accounts"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/faults"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/room"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// Options configures an Engine. Clock is required.
type Options struct {
	Config *config.Config // nil: the defaults
	Clock  *clock.Clock

	// Shutdown is called by SHUTDOWN, on the goroutine of the session. If it is nil, SHUTDOWN is refused.
	Shutdown func()

	// Log receives the server's log and what scripts pass to redis.log, as far as
	// loglevel admits. If it is nil, both are dropped.
	Log *slog.Logger

	// Disk is the directory of the files; see Directory, Open and Load. If it is
	// nil, nothing outlives the engine.
	Disk disk.FS

	// Chdir returns the directory that CONFIG SET dir names. If it is nil, dir cannot be changed.
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

// An Upstream is an engine beyond this process that has the keys. All that surrounds a call stays
// here: users, the queue of MULTI, CLIENT, CONFIG, statistics. See docs/adr/0044-over-a-cluster.md.
//
// Its methods may be called concurrently.
type Upstream interface {
	// Run runs calls and sets their replies, in the protocol of each. Several are of PlaceSlot or are
	// transactions; those of one key run in order. A subscription has its topics confirmed, for a bounded
	// time, and a call of PlaceEither may be left without a reply: the engine then runs it.
	Run(calls []*call.Call)
	// Await runs a call that may block. It returns soon after over is closed.
	Await(c *call.Call, over <-chan struct{})
	// Subscribe says that a topic has its first subscriber here, or no subscriber any more. It does not
	// block.
	Subscribe(kind call.Kind, topic string, subscribed bool)
	// Status returns the lines of INFO's section.
	Status() []call.Fact
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
	pause     pause.Pauses

	room  room.Keeper
	stats stats.Stats

	slow slow

	storage *durable.Storage
	repl    replicating
}

// Table returns the command table.
func (e *Engine) Table() *commands.Table { return e.table }

// Faults returns the failures that tests have injected.
func (e *Engine) Faults() *faults.Set { return &e.faults }

// Clock returns the engine's clock.
func (e *Engine) Clock() *clock.Clock { return e.clock }

// Reclaim removes all keys whose deadline has passed, in small steps that lock one shard each.
func (e *Engine) Reclaim() { e.room.Reclaim() }

// MaxMemory returns the directive maxmemory in bytes, 0 for no limit.
func (e *Engine) MaxMemory() int64 { return e.room.MaxMemory() }

// SetReserve has keys evicted so many bytes before used memory reaches maxmemory, for
// memory that the process needs beside it, such as garbage that awaits collection. Where
// nothing can be evicted maxmemory holds as it is.
func (e *Engine) SetReserve(bytes int64) { e.room.Limit.Reserve.Store(bytes) }
