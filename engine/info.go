package engine

import (
	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/info"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// Version is zlimit's own version, as INFO and --version show it. The linker sets it in
// releases.
var Version = "0.1.0"

// infoCommand returns the row of INFO.
func (e *Engine) infoCommand() commands.Command {
	return commands.Command{
		Name: "info", Arity: -1, Flags: commands.Loading | commands.Stale | commands.AllShards |
			commands.Stepwise, Categories: []string{"dangerous"},
		Tips: []string{
			"nondeterministic_output", "request_policy:all_shards",
			"response_policy:special",
		},
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Syntax: "[section [section ...]]",
		Handler: e.info,
		Summary: "Returns information about the server, by section.",
		Deviation: "usec is estimated from the calls that were timed, one in sixteen of short " +
			"commands; section limiter; percentiles are powers of two",
	}
}

// INFO [section [section ...]]
func (e *Engine) info(c *commands.Ctx) resp.Value {
	report := info.NewReport(c.Args[1:])
	caller(c).calls.flush()
	f := info.Facts{
		NowUs: c.NowUs, StartUs: e.startUs, RunID: e.runID, Version: Version, Redis: RedisVersion,
		Config: e.cfg.Config, Table: e.table, Stats: &e.stats,
		ShutdownInMs: e.shutdownInMs(),
	}
	if report.Needs(info.Server) {
		if err := e.rewriteError(); err != nil {
			f.RewriteErr = resp.OneLine(err.Error())
		}
	}
	if e.options.Port != nil {
		f.Port = e.options.Port()
	}
	if report.Needs(info.Keyspace | info.Stats) {
		// Before all else, because statFacts acquires the broker's lock, which comes after
		// the shards'.
		var busy *scripting.Busy
		if f.Keyspace, busy = e.keyspaceFigures(c); busy != nil {
			return resp.Error(busy.Reply)
		}
	}
	if report.Needs(info.Clients) {
		f.Clients = e.clientFacts()
	}
	if report.Needs(info.Memory) {
		f.Memory = e.readMemory()
	}
	if report.Needs(info.Persistence) {
		f.Persistence = e.storage.Status()
	}
	if report.Needs(info.Stats) {
		f.Activity = e.statFacts(c)
	}
	if report.Needs(info.Limiter) {
		f.Limiter = info.LimiterFacts{
			Prefixes: e.prefixFigures(), Counting: !e.store.PrefixesCounted(), Held: e.sampler.Last(),
		}
		f.MonotonicUs = e.clock.MonotonicUs()
	}
	if report.Needs(info.Replication | info.Stats) {
		f.MonotonicUs = e.clock.MonotonicUs()
		f.Replication = e.replicationFacts(f.MonotonicUs)
	}
	if u := e.options.Upstream; u != nil && report.Needs(info.Upstream) {
		f.Upstream = u.Status()
	}
	return resp.Verbatim(report.Text(&f))
}

// clientFacts returns the facts of section Clients.
func (e *Engine) clientFacts() info.ClientFacts {
	f := info.ClientFacts{
		Sessions: max(e.Sessions()-e.repl.master.Count(), 0), // one may have closed in between
		Tracking: e.tracking.Clients(), Subscribed: e.subscribers(),
		Awaited: e.store.WaitedKeys(),
	}
	f.LargestInput, f.LargestOutput = e.largestBuffers()
	f.Watching, f.Watched = e.store.WatchCounts()
	return f
}

// replicationFacts returns the facts of section Replication.
func (e *Engine) replicationFacts(nowUs int64) info.ReplicationFacts {
	r := &e.repl
	f := info.ReplicationFacts{
		Stream: r.stream.Status(), Replicas: r.master.Replicas(), Unexpected: r.unexpected.Load(),
		Good:     r.master.Good(nowUs, e.cfg.Int("min-replicas-max-lag")*1_000_000),
		Failover: e.failoverState(), Sentinels: e.broker.Sentinels.Load(),
	}
	f.Full, f.Partial, f.Refused = r.master.Counts()
	if l := r.link.Load(); l != nil {
		f.Master = &info.MasterFact{Host: l.host, Port: l.port, Link: l.Status()}
	}
	return f
}

// statFacts returns the facts of section Stats.
func (e *Engine) statFacts(c *commands.Ctx) info.StatFacts {
	f := info.StatFacts{
		EvictedKeys: e.evict.evicted.Load(), EvictedScripts: e.scripts.Stats().Evicted,
		Topics:      caller(c).AcquireBroker().Topics(),
		TrackedKeys: e.tracking.Keys(), TrackedItems: e.tracking.Items(),
		TrackedPrefixes: e.tracking.Prefixes(),
		DeniedAuth:      e.aclLog.Denied(acl.DeniedAuth), DeniedCommand: e.aclLog.Denied(acl.DeniedCommand),
		DeniedKey: e.aclLog.Denied(acl.DeniedKey), DeniedChannel: e.aclLog.Denied(acl.DeniedChannel),
		ClockAheadUs: e.clock.AheadUs(), ClockShiftUs: e.clock.ShiftUs(),
	}
	f.ExceededUs, f.ExceededNowUs = e.evict.exceededUs(e.clock.MonotonicUs())
	return f
}

// largestBuffers returns the largest input and output buffer of the sessions.
func (e *Engine) largestBuffers() (input, output int) {
	for _, s := range e.sessions.all() {
		b := s.shown.view().buffers
		input, output = max(input, b.Query+b.QueryFree), max(output, int(s.shown.output.Load()))
	}
	return input, output
}

// keyspaceFigures returns the sums of what the shards count. INFO locks one shard
// after the other, so that no command waits for it; in EXEC or in a script it holds
// all of them already. busy is a script past busy-reply-threshold that holds one.
func (e *Engine) keyspaceFigures(c *commands.Ctx) (f store.Figures, busy *scripting.Busy) {
	for i := range store.NumShards {
		one := store.ShardSet(1) << i
		if c.Unheld&one == 0 {
			e.store.AddFigures(&f, i)
			continue
		}
		if busy = e.lockUnlessBusy(caller(c), one); busy != nil {
			return f, busy
		}
		e.store.AddFigures(&f, i)
		e.store.Unlock(one)
	}
	return f, nil
}
