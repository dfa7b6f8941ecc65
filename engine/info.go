package engine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Version is zlimit's own version, as INFO and --version show it.
const Version = "0.1.0"

// An infoSection is one section of INFO.
type infoSection struct {
	name  string // lower case; the title is its first letter in upper case
	extra bool   // shown only by name, or with all and everything
	write func(e *Engine, c *commands.Ctx, w *infoWriter)
}

// infoWriter collects "field:value" lines.
type infoWriter struct{ b strings.Builder }

func (w *infoWriter) put(field string, value any) {
	fmt.Fprintf(&w.b, "%s:%v\r\n", field, value)
}

var infoSections = []infoSection{
	{name: "server", write: infoServer},
	{name: "clients", write: infoClients},
	{name: "memory", write: infoMemory},
	{name: "persistence", write: infoPersistence},
	{name: "stats", write: infoStats},
	{name: "replication", write: infoReplication},
	{name: "cpu", write: infoCPU},
	{name: "commandstats", extra: true, write: infoCommandStats},
	{name: "errorstats", write: func(e *Engine, _ *commands.Ctx, w *infoWriter) { infoErrorStats(e, w) }},
	{name: "latencystats", extra: true, write: infoLatencyStats},
	{name: "limiter", write: infoLimiter},
	{name: "cluster", write: func(_ *Engine, _ *commands.Ctx, w *infoWriter) { w.put("cluster_enabled", 0) }},
	{name: "keyspace", write: infoKeyspace},
}

// INFO [section [section ...]]
func (e *Engine) info(c *commands.Ctx) resp.Value {
	wanted := func(s infoSection) bool { return !s.extra }
	if len(c.Args) > 1 {
		named := make(map[string]bool)
		for _, a := range c.Args[1:] {
			named[strings.ToLower(string(a))] = true
		}
		wanted = func(s infoSection) bool {
			return named["all"] || named["everything"] || named["default"] && !s.extra || named[s.name]
		}
	}
	caller(c).flush()
	var w infoWriter
	for _, s := range infoSections {
		if !wanted(s) {
			continue
		}
		if w.b.Len() > 0 {
			w.b.WriteString("\r\n")
		}
		title := strings.ToUpper(s.name[:1]) + s.name[1:]
		if s.name == "cpu" {
			title = "CPU"
		}
		fmt.Fprintf(&w.b, "# %s\r\n", title)
		s.write(e, c, &w)
	}
	return resp.Verbatim(w.b.String())
}

func infoServer(e *Engine, c *commands.Ctx, w *infoWriter) {
	uptime := max(c.NowUs-e.startUs, 0) / 1_000_000
	w.put("redis_version", RedisVersion)
	w.put("zlimit_version", Version)
	w.put("redis_mode", "standalone")
	w.put("os", runtime.GOOS+" "+runtime.GOARCH)
	w.put("arch_bits", 32<<(^uint(0)>>63))
	w.put("go_version", runtime.Version())
	w.put("process_id", os.Getpid())
	w.put("run_id", e.runID)
	if e.options.Port != nil {
		w.put("tcp_port", e.options.Port())
	}
	w.put("server_time_usec", c.NowUs)
	w.put("uptime_in_seconds", uptime)
	w.put("uptime_in_days", uptime/86400)
	w.put("hz", e.cfg.Int("hz"))
}

func infoClients(e *Engine, _ *commands.Ctx, w *infoWriter) {
	w.put("connected_clients", e.Sessions())
	w.put("cluster_connections", 0)
	w.put("maxclients", e.cfg.Int("maxclients"))
	w.put("blocked_clients", e.stats.blocked.Load())
	w.put("tracking_clients", e.tracked.clients.Load())
	w.put("pubsub_clients", e.subscribers())
}

func infoMemory(e *Engine, _ *commands.Ctx, w *infoWriter) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.put("used_memory", m.HeapAlloc)
	w.put("used_memory_human", human(m.HeapAlloc))
	w.put("used_memory_rss", m.Sys-m.HeapReleased)
	w.put("used_memory_rss_human", human(m.Sys-m.HeapReleased))
	scripts := e.scripts.Stats()
	w.put("used_memory_scripts_eval", scripts.Bytes)
	w.put("number_of_cached_scripts", scripts.Cached)
	w.put("number_of_compiled_scripts", e.scripts.Compiled())
	w.put("maxmemory", 0)
	w.put("maxmemory_human", "0B")
	w.put("maxmemory_policy", "noeviction")
	w.put("mem_allocator", "go")
	w.put("gc_cycles", m.NumGC)
}

// human spells a number of bytes as INFO does.
func human(n uint64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%.2fK", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.2fM", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2fG", float64(n)/(1<<30))
}

func infoStats(e *Engine, c *commands.Ctx, w *infoWriter) {
	s := c.Store.Stats()
	w.put("total_connections_received", e.stats.connections.Load())
	w.put("total_commands_processed", e.stats.commands.sum())
	w.put("rejected_connections", e.stats.turnedAway.Load())
	w.put("expired_keys", s.Expired)
	w.put("evicted_keys", 0)
	w.put("evicted_scripts", e.scripts.Stats().Evicted)
	w.put("keyspace_hits", s.Hits)
	w.put("keyspace_misses", s.Misses)
	p := caller(c).hold()
	w.put("pubsub_channels", len(p.topics[channels]))
	w.put("pubsub_patterns", len(p.topics[patterns]))
	w.put("pubsubshard_channels", len(p.topics[shardChannels]))
	w.put("tracking_total_keys", e.tracked.table.keys.Load())
	w.put("tracking_total_items", e.tracked.table.items.Load())
	w.put("tracking_total_prefixes", e.tracked.prefixes.len())
	w.put("total_error_replies", e.stats.errors.Load())
	w.put("clock_ahead_usec", e.clockAheadUs.Load())
}

func infoReplication(e *Engine, _ *commands.Ctx, w *infoWriter) {
	w.put("role", "master")
	w.put("connected_slaves", 0)
	w.put("master_failover_state", "no-failover")
	w.put("master_replid", e.runID)
	w.put("master_replid2", strings.Repeat("0", len(e.runID)))
	w.put("master_repl_offset", 0)
	w.put("second_repl_offset", -1)
	w.put("repl_backlog_active", 0)
	w.put("repl_backlog_size", 0)
	w.put("repl_backlog_first_byte_offset", 0)
	w.put("repl_backlog_histlen", 0)
}

func infoCPU(_ *Engine, _ *commands.Ctx, w *infoWriter) {
	w.put("go_maxprocs", runtime.GOMAXPROCS(0))
	w.put("goroutines", runtime.NumGoroutine())
}

func infoCommandStats(e *Engine, _ *commands.Ctx, w *infoWriter) {
	one := func(c *commands.Command) {
		s := &e.stats.calls[c.ID()]
		calls, rejected, failed := s.calls.sum(), s.rejected.Load(), s.failed.Load()
		if calls+rejected > 0 {
			perCall := s.latency.mean()
			w.put("cmdstat_"+c.FullName(), fmt.Sprintf("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
				calls, perCall*float64(calls), perCall, rejected, failed))
		}
	}
	e.eachCommand(one)
}

// eachCommand calls fn with every row and every subcommand's.
func (e *Engine) eachCommand(fn func(c *commands.Command)) {
	for _, c := range e.table.All() {
		fn(c)
		for i := range c.Subs {
			fn(&c.Subs[i])
		}
	}
}

func infoLatencyStats(e *Engine, _ *commands.Ctx, w *infoWriter) {
	if !e.cfg.Bool("latency-tracking") {
		return
	}
	percentiles := e.cfg.Strings("latency-tracking-info-percentiles")
	e.eachCommand(func(c *commands.Command) {
		l := &e.stats.calls[c.ID()].latency
		if l.timed.Load() == 0 {
			return
		}
		shown := make([]string, len(percentiles))
		for i, p := range percentiles {
			percent, _ := strconv.ParseFloat(p, 64) // it was parsed before
			shown[i] = fmt.Sprintf("p%s=%d.000", p, l.percentile(percent))
		}
		w.put("latency_percentiles_usec_"+c.FullName(), strings.Join(shown, ","))
	})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func infoKeyspace(_ *Engine, c *commands.Ctx, w *infoWriter) {
	for i := range store.Databases {
		db := c.Store.DB(i)
		if n := db.Len(); n > 0 {
			w.put(fmt.Sprintf("db%d", i), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, db.ExpiringLen()))
		}
	}
}
