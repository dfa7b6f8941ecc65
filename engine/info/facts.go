package info

import (
	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/doctor"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/policies"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/engine/room"
	"github.com/zlimit/zlimit/engine/slowlog"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/engine/tracking"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// Facts are the parts of an engine that rows read, for one report or scrape: a list with a field for each
// part, which decides nothing. Functions are called only if a row needs them.
type Facts struct {
	StartUs     int64 // of the engine
	MonotonicUs int64 // now, on Clock.MonotonicUs
	RunID       string
	Version     string
	Port        int

	Config   *config.Config
	Table    *commands.Table
	Clock    *clock.Clock
	Store    *store.Store
	Scripts  *scripting.Engine
	Stats    *stats.Stats
	Broker   *pubsub.Broker
	Tracking *tracking.State
	ACLLog   *acl.Log
	Doctor   *doctor.Doctor
	Policies *policies.Policies
	SlowLog  *slowlog.Log
	Master   *replication.Master

	// INFO sets these, for the rows without metrics.
	NowUs    int64                    // of the call
	Keyspace store.Figures            // for sections keyspace and stats
	Topics   func() [pubsub.Kinds]int // that have subscribers

	RewriteError func() error // why CONFIG REWRITE would fail, or nil
	ShutdownInMs func() int64 // for how long replicas are waited for; -1: there is no shutdown

	Sessions       func() int
	Subscribed     func() int
	LargestBuffers func() (input, output int) // bytes

	Use    func() memory.Use
	Memory func() *memory.Facts
	Room   *room.Keeper

	Storage func() durable.Status

	Stream     func() replication.Status
	Link       func() *Link // nil: the server is a master
	Failover   func() string
	Unexpected func() int64 // commands of a master that could not be carried out

	Upstream func() []call.Fact // of section upstream; nil if there is none
}

// A Link is a replica's link to its master.
type Link struct {
	Host string
	Port int
	replication.LinkStatus
}
