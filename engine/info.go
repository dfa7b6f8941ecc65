package engine

import (
	"sync"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/info"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/engine/memory"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// Version is zlimit's own version, as INFO and --version show it. The linker sets it in releases.
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
	caller(c).Count()
	f := e.Facts()
	f.NowUs = c.NowUs
	if report.Shows("keyspace", "stats") {
		// Before all else, because Topics acquires the broker's lock, which comes after the shards'.
		var busy *scripting.Busy
		if f.Keyspace, busy = e.keyspaceFigures(c); busy != nil {
			return resp.Error(busy.Reply)
		}
	}
	f.Topics = func() [pubsub.Kinds]int { return caller(c).AcquireBroker().Topics() }
	return resp.Verbatim(report.Text(f))
}

// Facts returns what INFO and the metrics are made from. No shard is locked for the metrics. What a session
// does is counted when its batch ends.
func (e *Engine) Facts() *info.Facts {
	r := &e.repl
	use := sync.OnceValue(e.MemoryUse)
	f := &info.Facts{
		StartUs: e.life.startUs, MonotonicUs: e.clock.MonotonicUs(), RunID: e.life.runID, Version: Version,
		Config: e.cfg.Config, Table: e.table, Clock: e.clock, Store: e.store,
		Scripts: e.scripts, Stats: &e.stats, Broker: &e.broker, Tracking: &e.recording.tracking,
		ACLLog: &e.accounts.Log, Doctor: e.observers.doctor, SlowLog: &e.slow.log, Master: r.master,
		Policies:     &e.cfg.policies,
		RewriteError: sync.OnceValue(e.rewriteError), ShutdownInMs: sync.OnceValue(e.shutdownInMs),
		Sessions: e.sessions.clients, Subscribed: e.subscribers, LargestBuffers: e.largestBuffers,
		Use: use, Memory: sync.OnceValue(func() *memory.Facts { return e.readMemory(use()) }),
		Room:    &e.room,
		Storage: sync.OnceValue(e.storage.Status),
		Stream:  sync.OnceValue(r.stream.Status), Failover: e.failoverState, Unexpected: r.unexpected.Load,
		Link: sync.OnceValue(func() *info.Link {
			if l := r.link.Load(); l != nil {
				return &info.Link{Host: l.host, Port: l.port, LinkStatus: l.Status()}
			}
			return nil
		}),
		Upstream: sync.OnceValue(func() []call.Fact {
			if u := e.options.Upstream; u != nil {
				return u.Status()
			}
			return nil
		}),
	}
	f.Port = e.port()
	return f
}

var startupBytes = store.StartupBytes() + int64(unsafe.Sizeof(Engine{}))

// MemoryUse returns the present use. It locks no shard and takes constant time.
func (e *Engine) MemoryUse() memory.Use {
	backlog, behind := e.repl.stream.Memory()
	return memory.Use{
		Backlog: backlog, Replicas: behind,
		Keyspace:  e.store.Memory(),
		Startup:   startupBytes,
		Clients:   e.sessions.bytes(),
		Scripts:   e.scripts.Stats().Bytes,
		Functions: e.scripts.LibraryStats().Bytes,
		Log:       e.storage.Buffered(),
		Doctor:    e.observers.doctor.Bytes(),
		Top:       e.stats.Top.Bytes(),
		Traces:    e.observers.traces.Bytes(),
	}
}

// readMemory returns the facts of INFO memory and MEMORY.
func (e *Engine) readMemory(use memory.Use) *memory.Facts {
	f := &memory.Facts{
		Use: use, Heap: process.ReadHeap(), Resident: process.ResidentBytes(),
		Scripts: e.scripts.Stats(), Libraries: e.scripts.LibraryStats(),
		Max: e.room.MaxMemory(), Policy: e.cfg.String("maxmemory-policy"),
		Reserve:  e.room.Limit.Reserve.Load(),
		Sessions: int64(e.Sessions()),
	}
	f.Used = f.Use.Used()
	f.Peak = e.stats.NoteUse(f.Used)
	if f.Resident == 0 {
		f.Resident = f.Heap.Mapped
	}
	return f
}

// Sample counts the whole keyspace now; see stats.Sampler.Take.
func (e *Engine) Sample() stats.Sample { return e.stats.Sampler.Take() }

// Top returns the keys that RL.TOP lists, and rl-top-sampling: how many decisions one that
// was counted stands for, 0 if rl-top is no.
func (e *Engine) Top(q rl.TopQuery) (report rl.TopReport, sampling uint32) {
	if q.Keep == nil {
		q.Keep = func(string) bool { return true }
	}
	if q.NowMs == 0 {
		q.NowMs = e.clock.NowUs() / 1000
	}
	return e.stats.Top.Top(&q), e.stats.Top.Sampling()
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
		one := store.OneShard(i)
		if c.Unheld&one == 0 {
			e.store.AddFigures(&f, i)
			continue
		}
		if busy = e.locks.lockUnlessBusy(caller(c), one); busy != nil {
			return f, busy
		}
		e.store.AddFigures(&f, i)
		e.store.Unlock(one)
	}
	return f, nil
}

// Keys returns how many keys there are in all databases, including those that have expired and are not yet
// reclaimed. It reports false if a script past busy-reply-threshold is in the way.
func (e *Engine) Keys() (n int, ok bool) {
	for shard := range store.NumShards {
		one := store.OneShard(shard)
		if !e.store.LockOrCancel(one, e.scripts.BusyChange()) {
			return 0, false
		}
		n += e.store.ShardLen(shard)
		e.store.Unlock(one)
	}
	return n, true
}

// MEMORY DOCTOR
func (e *Engine) memoryDoctor(*commands.Ctx) resp.Value {
	return resp.Verbatim(memory.Diagnose(e.readMemory(e.MemoryUse())))
}

// MEMORY STATS
func (e *Engine) memoryStats(c *commands.Ctx) resp.Value {
	caller(c).Count()
	keys, busy := e.keyspaceFigures(c)
	if busy != nil {
		return resp.Error(busy.Reply)
	}
	return memory.Stats(e.readMemory(e.MemoryUse()), &keys)
}

// LATENCY HISTOGRAM [command [command ...]]
//
// Of a container the subcommands are shown. Other names are ignored.
func (e *Engine) latencyHistogram(c *commands.Ctx) resp.Value {
	caller(c).Count()
	var out []resp.Value
	add := func(cmd *commands.Command) {
		if h := latency.Histogram(&e.stats, cmd); cmd.Own() == cmd && h.Kind() == resp.KindMap {
			out = append(out, resp.Bulk(cmd.FullName()), h)
		}
	}
	if len(c.Args) == 2 {
		e.table.Each(add)
	}
	for _, name := range c.Args[2:] {
		cmd := e.table.Find(name)
		if cmd == nil {
			continue
		}
		add(cmd)
		for i := range cmd.Subs {
			add(&cmd.Subs[i])
		}
	}
	return resp.Map(out...)
}
