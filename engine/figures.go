package engine

import (
	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/doctor"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/words"
)

// Figures are what monitoring shows of an engine since the start or CONFIG
// RESETSTAT. They are copies, for which no shard is locked. What a session does is
// in them when its batch ends.
type Figures struct {
	Sessions  int
	Commands  int64                   // that have run, including those of scripts and EXEC
	Errors    int64                   // error replies
	Decisions []commands.Decisions    // by commands.Decider
	ByPrefix  []stats.PrefixDecisions // of rl-stats-prefix, quoted like Prefixes; first those of no prefix
	Latency   []CommandLatency        // of the commands of which calls were timed
	Keyspace  stats.Sample
	Storage   durable.Status
	Denials   []Denials
	Doctor    []doctor.Total        // by problem, what rl-doctor has found
	Prefixes  []store.PrefixFigures // of rl-max-keys-per-prefix; names are quoted if they need to be

	UsedMemory int64 // bytes, as in INFO
	MaxMemory  int64 // bytes; 0: there is no limit
	Evicted    int64 // keys, because memory was full
	Expired    int64 // keys, because their deadline had passed

	MaxClients        int64
	Blocked           int64 // sessions that are blocked now
	Rejected          int64 // connections that were refused
	Handshakes        int64 // TLS handshakes that failed
	EvictedClients    int64 // connections that maxmemory-clients has closed
	InBytes, OutBytes int64 // of clients' connections

	SlowCommands int64 // entries that SLOWLOG has had since the start

	ClockAheadUs int64 // how far the clock is ahead of the system's

	Rewritable bool  // CONFIG REWRITE can replace the configuration file; see INFO's config_rewritable
	Sentinels  int64 // as in INFO

	Upstream []call.Fact // as in INFO; nil: there is no upstream
}

// Denials is how many logins have failed, or how many calls were refused by the ACL for
// one reason: "auth", "command", "key" or "channel".
type Denials struct {
	Reason string
	Count  int64
}

// A CommandLatency is how long the timed calls of one command took.
type CommandLatency struct {
	Command string // the full name: "config|get"
	Timed   int64
	SumUs   int64
	Buckets [stats.LatencyBuckets]int64 // not cumulative: see stats.LatencyBuckets
}

// Commands returns how many commands have run since the start or CONFIG RESETSTAT.
func (e *Engine) Commands() int64 { return e.stats.Commands() }

// Figures returns the present figures.
func (e *Engine) Figures() Figures {
	f := Figures{
		Sessions: e.Sessions(), Commands: e.Commands(), Errors: e.stats.Errors.Total(),
		Keyspace: e.sampler.Last(), Storage: e.storage.Status(),
		UsedMemory: e.MemoryUse().Used(), MaxMemory: e.MaxMemory(), Evicted: e.evict.evicted.Load(),
		Expired: e.store.Expired(), MaxClients: e.cfg.Int("maxclients"),
		Blocked: e.stats.Blocked.Load(), Rejected: e.stats.Rejected.Load(),
		Handshakes: e.stats.Handshakes.Load(), EvictedClients: e.stats.Evicted.Load(),
		InBytes: e.stats.Traffic.InBytes(), OutBytes: e.stats.Traffic.OutBytes(),
		Prefixes: e.prefixFigures(), Doctor: e.doctor.Totals(),
		SlowCommands: e.slow.log.Total(),
		ClockAheadUs: e.clock.AheadUs(),
		Rewritable:   e.rewriteError() == nil, Sentinels: e.broker.Sentinels.Load(),
	}
	if u := e.options.Upstream; u != nil {
		f.Upstream = u.Status()
	}
	prefixes, none, all := e.prefixDecisions()
	f.Decisions = all
	f.ByPrefix = append(f.ByPrefix, stats.PrefixDecisions{By: none})
	for _, p := range prefixes {
		f.ByPrefix = append(f.ByPrefix, stats.PrefixDecisions{Prefix: words.Spell(p.Prefix), By: p.By})
	}
	for _, reason := range acl.LogOrder {
		f.Denials = append(f.Denials, Denials{reason.String(), e.aclLog.Denied(reason)})
	}
	e.table.Each(func(c *commands.Command) {
		l := e.stats.Latency(c)
		if !l.Timed() {
			return
		}
		one := CommandLatency{Command: c.FullName(), SumUs: l.SumUs(), Buckets: l.Buckets()}
		for _, n := range one.Buckets {
			one.Timed += n // the sum of the copies: a call may be added meanwhile
		}
		f.Latency = append(f.Latency, one)
	})
	return f
}

// Sample counts the whole keyspace now; see stats.Sampler.Take.
func (e *Engine) Sample() stats.Sample { return e.sampler.Take() }

// Keys returns how many keys there are in all databases, including those that have
// expired and are not yet reclaimed. It reports false if a script past
// busy-reply-threshold is in the way.
func (e *Engine) Keys() (n int, ok bool) {
	for shard := range store.NumShards {
		one := store.ShardSet(1) << shard
		if !e.store.LockOrCancel(one, e.scripts.BusyChange()) {
			return 0, false
		}
		n += e.store.ShardLen(shard)
		e.store.Unlock(one)
	}
	return n, true
}
