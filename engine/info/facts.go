package info

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// Facts are what the sections show. A field that names a section is needed only for that one.
type Facts struct {
	NowUs       int64 // of the call
	MonotonicUs int64 // on Clock.MonotonicUs
	StartUs     int64 // of the engine
	RunID       string
	Port        int
	Version     string
	Redis       string // the version whose behaviour this is

	RewriteErr string // why CONFIG REWRITE would fail, in one line, or ""; for Server

	ShutdownInMs int64 // for how long replicas are waited for yet; -1: there is no shutdown

	Config *config.Config
	Table  *commands.Table
	Stats  *stats.Stats

	Clients     ClientFacts
	Memory      memory.Facts
	Persistence durable.Status // for Persistence
	Activity    StatFacts      // for Stats
	Keyspace    store.Figures  // for Keyspace and Stats
	Limiter     LimiterFacts
	Replication ReplicationFacts // for Replication, Stats and Memory
	Upstream    []call.Fact      // for Upstream; nil: there is none
}

// ClientFacts are about the sessions.
type ClientFacts struct {
	Sessions                   int
	LargestInput               int // bytes of the largest buffers
	LargestOutput              int
	Tracking                   int64 // CLIENT TRACKING
	Subscribed                 int
	Watching, Watched, Awaited int64 // sessions that watch, and keys
}

// StatFacts are what section Stats shows beside what package stats counts.
type StatFacts struct {
	EvictedKeys    int64
	EvictedScripts int64
	// ExceededUs is for how long memory was beyond maxmemory, and ExceededNowUs for how long it is now.
	ExceededUs, ExceededNowUs int64

	Topics                                              [pubsub.Kinds]int // that have subscribers
	TrackedKeys, TrackedItems                           int64
	TrackedPrefixes                                     int
	DeniedAuth, DeniedCommand, DeniedKey, DeniedChannel int64
	ClockAheadUs, ClockShiftUs                          int64
}

// LimiterFacts are about limiters.
type LimiterFacts struct {
	Prefixes []store.PrefixFigures // in order; names are quoted if they need to be
	Counting bool                  // the keys under the prefixes are still being counted
	Held     stats.Sample
}
