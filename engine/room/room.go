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

	Evicted  atomic.Int64 // keys, since the start or ResetStats
	Reclaims Reclaims
	excess   excess

	Limit    Limit
	policy   atomic.Pointer[store.Eviction]
	budgetUs atomic.Int64 // how long a command may make room
	others   atomic.Int64 // Options.Others as of the last Tick
	running  atomic.Bool  // a timer is set that goes on making room

	counting sync.Mutex // protects walk; held while a shard is locked, never the other way around
	walk     store.PrefixWalk
	sweptMs  atomic.Int64 // every key has been reclaimed that had expired by this unix time
}

// Init makes k ready for use.
func (k *Keeper) Init(o Options) {
	k.options = o
	o.Config.Follow(k.followEviction)
	k.setPrefixLimits()
	o.Config.OnChange("rl-max-keys-per-prefix", k.setPrefixLimits)
	k.CountPrefixes()
}

// Tick does a share of the work: what takes too long is left to the next one. Call it hz times a second, one
// call at a time.
func (k *Keeper) Tick() {
	if !k.Reclaims.Off.Load() {
		k.reclaimSome()
	}
	k.countSomePrefixes()
	if k.Limit.max.Load() != 0 {
		k.makeSome()
	}
}

// ResetStats is CONFIG RESETSTAT.
func (k *Keeper) ResetStats() {
	for _, n := range []*atomic.Int64{&k.Evicted, &k.excess.totalUs, &k.Reclaims.Us, &k.Reclaims.Cuts} {
		n.Store(0)
	}
}
