package memory

import (
	"strconv"
	"sync"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Caller is the session that runs a command of this package.
type Caller interface {
	// InExec reports whether the command is one of EXEC's.
	InExec() bool
	// Await makes the session wait for the reply, which run returns in a goroutine of its own, and soon
	// after over is closed. It returns resp.None at once.
	Await(timeoutMs int64, run func(over <-chan struct{}) resp.Value, timedOut func() resp.Value) resp.Value
}

// Commands returns the row of MEMORY, with the handlers of the subcommands that need the
// engine. free collects garbage and returns unused memory to the system; it may be nil.
func Commands(doctor, stats commands.Handler, free func()) []commands.Command {
	var purging sync.Mutex
	// It is beside the session, whose loop has other clients to serve. EXEC and scripts cannot wait.
	purge := func(c *commands.Ctx) resp.Value {
		if free == nil || !purging.TryLock() { // another call is under way
			return resp.OK
		}
		done := make(chan struct{})
		collect := func() {
			defer close(done)
			defer purging.Unlock()
			free()
		}
		if c.Mode.Is(commands.InScript) || c.Env.Caller.(Caller).InExec() {
			collect()
			return resp.OK
		}
		go collect()
		return c.Env.Caller.(Caller).Await(0, func(over <-chan struct{}) resp.Value {
			select {
			case <-done:
			case <-over:
			}
			return resp.OK
		}, nil)
	}
	row := func(name string, flags commands.Flags, complexity, summary, deviation string, tips []string,
		handler commands.Handler,
	) commands.Command {
		return commands.Command{
			Name: name, Arity: 2, Flags: flags, Group: "server", Since: "4.0.0", Complexity: complexity,
			Summary: summary, Deviation: deviation, Tips: tips, Handler: handler,
		}
	}
	report := []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}
	const release = "Depends on how much memory is allocated"
	usage := row("usage", commands.ReadOnly, "O(1)",
		"Returns the bytes that a key counts for in used_memory.",
		"the bytes are zlimit's, and exact: SAMPLES changes nothing", nil, keyUsage)
	usage.Arity, usage.Syntax = -3, "key [SAMPLES count]"
	usage.Keys = []commands.KeySpec{{Flags: "RO", First: 2, Step: 1}}
	return []commands.Command{{
		Name: "memory", Arity: -2, Group: "server", Since: "4.0.0", Complexity: "Depends on subcommand.",
		Summary: "Shows what takes memory.",
		Subs: []commands.Command{
			row("doctor", 0, "O(1)", "Returns what is unusual about the use of memory, in words.",
				"the text", report, doctor),
			commands.Help("server", "4.0.0"),
			row("malloc-stats", 0, release, "Returns the figures of Go's runtime about its memory.",
				"the text", report, mallocStats),
			row("purge", 0, release, "Collects garbage and returns unused memory to the system.", "",
				[]string{"request_policy:all_shards", "response_policy:all_succeeded"}, purge),
			row("stats", commands.AllShards|commands.Stepwise, "O(1)",
				"Returns what takes memory, by cause, as INFO memory shows it.",
				"what Redis has and zlimit has not is 0", report, stats),
			usage,
		},
	}}
}

// MEMORY USAGE key [SAMPLES count]
func keyUsage(c *commands.Ctx) resp.Value {
	for rest := c.Args[3:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) < 2 || !commands.EqualFold(rest[0], "samples") {
			return commands.ErrSyntax
		}
		switch samples, ok := store.ParseInt(rest[1]); {
		case !ok:
			return commands.ErrNotInteger
		case samples < 0:
			return commands.ErrSyntax
		}
	}
	n := c.DB.Examine(c.Args[2], 0) // as in Redis, also a key that has expired and is not removed yet
	if n == nil {
		return resp.Null
	}
	return resp.Int(store.Bytes(n))
}

// MEMORY MALLOC-STATS
func mallocStats(*commands.Ctx) resp.Value { return resp.Verbatim(process.MemoryReport()) }

// Stats returns the reply of MEMORY STATS.
func Stats(f *Facts, keys *store.Figures) resp.Value {
	h := &f.Heap
	var out []resp.Value
	put := func(field string, n int64) { out = append(out, resp.Bulk(field), resp.Int(n)) }
	double := func(field string, x float64) { out = append(out, resp.Bulk(field), resp.Double(x)) }

	put("peak.allocated", f.Peak)
	put("total.allocated", f.Used)
	put("startup.allocated", f.Use.Startup)
	put("replication.backlog", f.Use.Backlog)
	put("clients.slaves", f.Use.Replicas)
	put("clients.normal", f.Use.Clients)
	put("cluster.links", 0)
	put("aof.buffer", f.Use.Log)
	put("lua.caches", f.Scripts.Bytes)
	put("functions.caches", f.Libraries.Bytes)
	total := int64(0)
	for i := range keys.DBs {
		if db := &keys.DBs[i]; db.Keys > 0 {
			total += int64(db.Keys)
			out = append(out, resp.Bulk("db."+strconv.Itoa(i)), resp.Map(
				resp.Bulk("overhead.hashtable.main"), resp.Int(db.MainBytes),
				resp.Bulk("overhead.hashtable.expires"), resp.Int(db.ExpiresBytes),
				resp.Bulk("overhead.hashtable.slot-to-keys"), resp.Int(0)))
		}
	}
	data := f.Used - f.Use.Startup
	put("overhead.total", f.Overhead())
	put("keys.count", total)
	perKey := int64(0)
	if total > 0 {
		perKey = data / total
	}
	put("keys.bytes-per-key", perKey)
	put("dataset.bytes", f.Dataset())
	double("dataset.percentage", Ratio(f.Dataset(), data)*100)
	double("peak.percentage", Ratio(f.Used, f.Peak)*100)
	put("allocator.allocated", h.Allocated)
	put("allocator.active", h.Active)
	put("allocator.resident", h.Mapped)
	double("allocator-fragmentation.ratio", Ratio(h.Active, h.Allocated))
	put("allocator-fragmentation.bytes", h.Active-h.Allocated)
	double("allocator-rss.ratio", Ratio(h.Mapped, h.Active))
	put("allocator-rss.bytes", h.Mapped-h.Active)
	double("rss-overhead.ratio", Ratio(f.Resident, h.Mapped))
	put("rss-overhead.bytes", f.Resident-h.Mapped)
	double("fragmentation", Ratio(f.Resident, f.Used))
	put("fragmentation.bytes", f.Resident-f.Used)
	return resp.Map(out...)
}
