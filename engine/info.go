package engine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// Version is zlimit's own version, as INFO and --version show it.
const Version = "0.1.0"

// An infoSection is one section of INFO.
type infoSection struct {
	name  string // lower case; the title is its first letter in upper case
	extra bool   // shown only by name, or with all and everything
	keys  bool   // it shows what the shards of the keyspace count
	write func(e *Engine, f *infoFacts, c *commands.Ctx, w *infoWriter)
}

// infoWriter collects "field:value" lines.
type infoWriter struct{ b strings.Builder }

func (w *infoWriter) put(field string, value any) {
	fmt.Fprintf(&w.b, "%s:%v\r\n", field, value)
}

// infoSections stand in Redis' order, ours behind them.
var infoSections = []infoSection{
	{name: "server", write: infoServer},
	{name: "clients", write: infoClients},
	{name: "memory", write: infoMemory},
	{name: "persistence", write: infoPersistence},
	{name: "stats", keys: true, write: infoStats},
	{name: "replication", write: infoReplication},
	{name: "cpu", write: infoCPU},
	{name: "modules", write: func(*Engine, *infoFacts, *commands.Ctx, *infoWriter) {}},
	{name: "commandstats", extra: true, write: infoCommandStats},
	{name: "errorstats", write: func(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) { infoErrorStats(e, w) }},
	{name: "latencystats", extra: true, write: infoLatencyStats},
	{name: "cluster", write: func(_ *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) { w.put("cluster_enabled", 0) }},
	{name: "keyspace", keys: true, write: infoKeyspace},
	{name: "limiter", write: infoLimiter},
}

// title is what stands above the section.
func (s *infoSection) title() string {
	if s.name == "cpu" {
		return "CPU"
	}
	return strings.ToUpper(s.name[:1]) + s.name[1:]
}

// INFO [section [section ...]]
func (e *Engine) info(c *commands.Ctx) resp.Value {
	wanted := infoWanted(c.Args[1:])
	caller(c).flush()
	var f infoFacts
	if slices.ContainsFunc(wanted, func(s *infoSection) bool { return s.keys }) {
		// Before anything is written: the lock of pubsub comes after the shards'.
		var busy *scripting.Busy
		if f.keyspace, busy = e.keyspaceFigures(c); busy != nil {
			return resp.Error(busy.Reply)
		}
	}
	var w infoWriter
	for _, s := range wanted {
		if w.b.Len() > 0 {
			w.b.WriteString("\r\n")
		}
		fmt.Fprintf(&w.b, "# %s\r\n", s.title())
		s.write(e, &f, c, &w)
	}
	return resp.Verbatim(w.b.String())
}

// infoWanted returns the sections that the arguments name.
func infoWanted(args [][]byte) (out []*infoSection) {
	named := map[string]bool{"default": len(args) == 0}
	for _, a := range args {
		named[strings.ToLower(string(a))] = true
	}
	all := named["all"] || named["everything"]
	for i := range infoSections {
		if s := &infoSections[i]; all || named["default"] && !s.extra || named[s.name] {
			out = append(out, s)
		}
	}
	return out
}

func infoServer(e *Engine, _ *infoFacts, c *commands.Ctx, w *infoWriter) {
	uptime := max(c.NowUs-e.startUs, 0) / 1_000_000
	commit, dirty := revision()
	w.put("redis_version", RedisVersion)
	w.put("redis_git_sha1", commit)
	w.put("redis_git_dirty", dirty)
	w.put("zlimit_version", Version)
	w.put("redis_mode", "standalone")
	w.put("os", osName())
	w.put("arch_bits", 32<<(^uint(0)>>63))
	w.put("monotonic_clock", "go")
	w.put("multiplexing_api", poller())
	w.put("atomicvar_api", "go")
	w.put("go_version", runtime.Version())
	w.put("process_id", os.Getpid())
	w.put("process_supervised", "no")
	w.put("run_id", e.runID)
	port := 0
	if e.options.Port != nil {
		port = e.options.Port()
	}
	w.put("tcp_port", port)
	w.put("server_time_usec", c.NowUs)
	w.put("uptime_in_seconds", uptime)
	w.put("uptime_in_days", uptime/86400)
	w.put("hz", e.cfg.Int("hz"))
	w.put("configured_hz", e.cfg.Int("hz"))
	w.put("lru_clock", store.UseClock(c.NowMs))
	executable, _ := os.Executable()
	w.put("executable", executable)
	w.put("config_file", e.cfg.Path())
	w.put("io_threads_active", 0)
}

func infoClients(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	input, output := e.largestBuffers()
	w.put("connected_clients", e.Sessions())
	w.put("cluster_connections", 0)
	w.put("maxclients", e.cfg.Int("maxclients"))
	w.put("client_recent_max_input_buffer", input)
	w.put("client_recent_max_output_buffer", output)
	w.put("blocked_clients", e.stats.blocked.Load())
	w.put("tracking_clients", e.tracked.clients.Load())
	w.put("pubsub_clients", e.subscribers())
	w.put("clients_in_timeout_table", e.stats.timedWaits.Load())
}

// largestBuffers returns the largest buffers of any session there is.
func (e *Engine) largestBuffers() (input, output int) {
	for _, s := range e.sessions.all() {
		b := s.view().buffers
		input, output = max(input, b.Query+b.QueryFree), max(output, b.Output)
	}
	return input, output
}

func infoReplication(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
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

func infoCPU(_ *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	own, children := processTimes()
	w.seconds("used_cpu_sys", own.systemUs)
	w.seconds("used_cpu_user", own.userUs)
	w.seconds("used_cpu_sys_children", children.systemUs)
	w.seconds("used_cpu_user_children", children.userUs)
	w.seconds("used_cpu_sys_main_thread", own.systemUs) // commands run on every thread
	w.seconds("used_cpu_user_main_thread", own.userUs)
	w.put("go_maxprocs", runtime.GOMAXPROCS(0))
	w.put("goroutines", runtime.NumGoroutine())
}

func (w *infoWriter) seconds(field string, us int64) {
	w.put(field, fmt.Sprintf("%d.%06d", us/1_000_000, us%1_000_000))
}

func infoCommandStats(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
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

func infoLatencyStats(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
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
