// Package room makes room in the keyspace: it evicts keys while used memory exceeds maxmemory, removes keys
// whose deadline has passed, and counts keys for rl-max-keys-per-prefix. It locks shards itself, one or two
// at a time. Which key goes is decided in store; see docs/adr/0022, 0033 and 0035.
//
// This package is internal to zlimit: it may change in any release.
package room

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Options configures a Keeper. Fields are required unless they say otherwise.
type Options struct {
	Config *config.View // its owner ends it
	Clock  *clock.Clock
	Store  *store.Store

	// Pause and After are those of engine.Options. Either may be nil.
	Pause func()
	After func(ms int64, fn func()) (stop func())

	// Buffers and Mail are used memory that commands change all the time, in bytes. Others returns what
	// else is in use beside the keyspace; it is read at each Tick.
	Buffers, Mail *atomic.Int64
	Others        func() int64

	// Loading reports whether files are being loaded: the rest of them may extend a deadline.
	Loading func() bool
	// Suspended reports whether a busy script or CLIENT PAUSE forbids eviction.
	Suspended func() bool
	// Replica reports whether the engine has a master, which evicts for it.
	Replica func() bool

	// BusyChange returns a channel that is closed when a script passes busy-reply-threshold: nobody waits
	// for a shard any longer.
	BusyChange func() <-chan struct{}
	// Torn reports whether one of shards, which are locked, holds half of what a script was to do.
	Torn func(shards store.ShardSet) bool

	// Record starts recording in g what is removed from shards, which are locked. If it returns true, Commit
	// ends that and publishes the changes.
	Record func(g *effects.Group, shards store.ShardSet) bool
	Commit func(g *effects.Group, shards store.ShardSet, nowMs int64)
	// Event adds a sample to an event of LATENCY.
	Event func(name string, us int64)
	// Changed is called after keys were evicted, when their shards are unlocked.
	Changed func()
}

// A Keeper keeps room in a keyspace. Its methods may be called concurrently unless they say otherwise.
type Keeper struct {
	options Options
	clock   *clock.Clock
	store   *store.Store

	// These count since the start or ResetStats.
	Evicted     atomic.Int64 // keys
	ReclaimUs   atomic.Int64 // that Ticks have spent on expired keys
	ReclaimCuts atomic.Int64 // Ticks that left expired keys to the next one
	exceeded    atomic.Int64 // for how many microseconds memory was exceeded, before sinceUs
	sinceUs     atomic.Int64 // since when it is, on Clock.MonotonicUs; 0: it is not

	max      atomic.Int64 // maxmemory; 0: there is no limit, and nothing else is looked at
	policy   atomic.Pointer[store.Eviction]
	budgetUs atomic.Int64 // how long a command may make room
	Reserve  atomic.Int64 // see engine.Engine.SetReserve
	dry      atomic.Bool  // there was nothing to evict, since the last Tick
	others   atomic.Int64 // Options.Others as of the last Tick
	running  atomic.Bool  // a timer is set that goes on making room

	ReclaimOff atomic.Bool // DEBUG SET-ACTIVE-EXPIRE 0
	reclaimAt  int         // the shard that the next Tick reclaims first; used by Tick only

	counting sync.Mutex // protects walk; held while a shard is locked, never the other way around
	walk     store.PrefixWalk
	sweptMs  atomic.Int64 // every key has been reclaimed that had expired by this unix time
}

// Init makes k ready for use.
func (k *Keeper) Init(o Options) {
	k.options, k.clock, k.store = o, o.Clock, o.Store
	o.Config.Follow(k.followEviction)
	k.setPrefixLimits()
	o.Config.OnChange("rl-max-keys-per-prefix", k.setPrefixLimits)
	k.CountPrefixes()
}

// Tick does a share of the work: what takes too long is left to the next one. Call it hz times a second, one
// call at a time.
func (k *Keeper) Tick() {
	if !k.ReclaimOff.Load() {
		k.reclaimSome()
	}
	k.countSomePrefixes()
	if k.max.Load() != 0 {
		k.makeSome()
	}
}

// ResetStats is CONFIG RESETSTAT.
func (k *Keeper) ResetStats() {
	for _, n := range []*atomic.Int64{&k.Evicted, &k.exceeded, &k.ReclaimUs, &k.ReclaimCuts} {
		n.Store(0)
	}
}
