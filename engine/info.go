package engine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// Version is zlimit's own version, as INFO and --version show it. The linker sets it in
// releases.
var Version = "0.1.0"

// An infoSection is one section of INFO.
type infoSection struct {
	name  string // lower case
	extra bool   // shown only by name, or with all and everything
	keys  bool   // it needs infoFacts.keyspace
	write func(e *Engine, f *infoFacts, c *commands.Ctx, w *infoWriter)
}

// infoWriter collects "field:value" lines.
type infoWriter struct{ b strings.Builder }

func (w *infoWriter) put(field string, value any) {
	fmt.Fprintf(&w.b, "%s:%v\r\n", field, value)
}

// infoSections are Redis' sections in Redis' order, then ours.
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
	{name: "errorstats", write: infoErrorStats},
	{name: "latencystats", extra: true, write: infoLatencyStats},
	{name: "cluster", write: func(_ *Engine, _ *infoFacts, _ *commands.Ctx,
		w *infoWriter,
	) {
		w.put("cluster_enabled", 0)
	}},
	{name: "keyspace", keys: true, write: infoKeyspace},
	{name: "limiter", write: infoLimiter},
}

// title returns the section's heading.
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
		// Before any section is written, because one of them acquires the broker's
		// lock, which comes after the shards'.
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
	commit, dirty := process.Revision()
	w.put("redis_version", RedisVersion)
	w.put("redis_git_sha1", commit)
	w.put("redis_git_dirty", dirty)
	w.put("zlimit_version", Version)
	w.put("redis_mode", "standalone")
	w.put("os", process.OSName())
	w.put("arch_bits", 32<<(^uint(0)>>63))
	w.put("monotonic_clock", "go")
	w.put("multiplexing_api", process.Poller())
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
	w.put("blocked_clients", e.stats.Blocked.Load())
	w.put("tracking_clients", e.tracked.clients.Load())
	w.put("pubsub_clients", e.subscribers())
	watching, watched := e.store.WatchCounts()
	w.put("watching_clients", watching)
	w.put("clients_in_timeout_table", e.stats.TimedWaits.Load())
	w.put("total_watched_keys", watched)
	w.put("total_blocking_keys", e.store.WaitedKeys())
}

// largestBuffers returns the largest input and output buffer of the sessions.
func (e *Engine) largestBuffers() (input, output int) {
	for _, s := range e.sessions.all() {
		b := s.view().buffers
		input, output = max(input, b.Query+b.QueryFree), max(output, int(s.output.Load()))
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
	own, children := process.Times()
	w.seconds("used_cpu_sys", own.SystemUs)
	w.seconds("used_cpu_user", own.UserUs)
	w.seconds("used_cpu_sys_children", children.SystemUs)
	w.seconds("used_cpu_user_children", children.UserUs)
	w.seconds("used_cpu_sys_main_thread", own.SystemUs) // commands run on every thread
	w.seconds("used_cpu_user_main_thread", own.UserUs)
	w.put("go_maxprocs", runtime.GOMAXPROCS(0))
	w.put("goroutines", runtime.NumGoroutine())
}

func (w *infoWriter) seconds(field string, us int64) {
	w.put(field, fmt.Sprintf("%d.%06d", us/1_000_000, us%1_000_000))
}
