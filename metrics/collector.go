package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/stats"
)

// A collector reads an engine at each scrape. It acquires no lock of the keyspace.
type collector struct{ engine *engine.Engine }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	allowed  = desc("rate_limit_allowed_total", "Admitted calls, by algorithm.", "algorithm")
	rejected = desc("rate_limit_rejected_total", "Denied calls, by algorithm.", "algorithm")
	units    = desc("rate_limit_units_total", "Granted units, by algorithm.", "algorithm")

	decisions = desc("zlimit_decisions_total",
		"Decisions, by algorithm, prefix of rl-stats-prefix (empty: none) and result.",
		"algorithm", "prefix", "result")
	decisionUnits = desc("zlimit_decision_units_total",
		"Granted units, by algorithm and prefix of rl-stats-prefix (empty: none).", "algorithm", "prefix")
	fullness = desc("zlimit_decision_fullness_ratio",
		"How full limits are after decisions, by algorithm and prefix of rl-stats-prefix (empty: none).",
		"algorithm", "prefix")

	ops     = desc("zlimit_ops_total", "Commands run, including those of scripts and transactions.")
	errs    = desc("zlimit_errors_total", "Error replies.")
	clients = desc("zlimit_connected_clients", "Connected clients.")
	latency = desc("zlimit_command_duration_seconds",
		"Execution times of commands, from a sample of the calls.", "command")

	keys      = desc("zlimit_keys", "Keys in the last sample, by kind of value.", "kind")
	hits      = desc("zlimit_hits", "Units in the last sample, by algorithm.", "kind")
	bytesHeld = desc("zlimit_held_bytes", "Approximate bytes of keys and values in the last sample.", "kind")
	age       = desc("zlimit_sample_age_seconds", "Age of the last sample.")

	prefixKeys = desc("zlimit_prefix_keys", "Keys under a prefix of rl-max-keys-per-prefix.", "prefix")
	prefixMax  = desc("zlimit_prefix_max_keys", "Keys that RL commands may create under a prefix.", "prefix")
	refused    = desc("zlimit_prefix_refused_total", "Calls refused because a prefix was full.", "prefix")

	loading = desc("zlimit_loading", "1 while files are loaded.")
	logging = desc("zlimit_aof_enabled", "1 if the append-only log is enabled.")
	logOK   = desc("zlimit_aof_ok",
		"0 while the append-only log cannot be written and writes are refused.")
	logBytes   = desc("zlimit_aof_bytes", "Bytes of the append-only log.")
	logWaiting = desc("zlimit_aof_waiting_bytes", "Bytes of the append-only log buffered in memory.")
	delayed    = desc("zlimit_aof_delayed_fsyncs_total",
		"Syncs delayed because the previous one was still running.")
	rewriteOK = desc("zlimit_aof_rewrite_ok", "0 if the last rewrite of the append-only log failed.")
	rewriting = desc("zlimit_aof_rewriting", "1 while the append-only log is rewritten.")
	saveOK    = desc("zlimit_rdb_ok", "0 if the last snapshot failed.")
	saving    = desc("zlimit_rdb_saving", "1 while a snapshot is saved.")
	changes   = desc("zlimit_rdb_changes", "Changes since the last snapshot, if counted.")
	lastSave  = desc("zlimit_rdb_last_save_timestamp_seconds",
		"Time of the last snapshot, initially of the start.")
	denials = desc("zlimit_acl_denied_total",
		"Failed logins (auth), and calls refused by the ACL, by reason.", "reason")
	used      = desc("zlimit_used_memory_bytes", "Memory of keys, values and buffers.")
	maxmemory = desc("zlimit_maxmemory_bytes", "Limit of used memory, 0 if there is none.")
	problems  = desc("zlimit_doctor_findings_total",
		"Mistakes of hand-written limiters, found by rl-doctor.", "problem")
	evictions = desc("zlimit_evicted_keys_total", "Keys evicted because memory was full.")
	expiries  = desc("zlimit_expired_keys_total", "Keys removed because their deadline had passed.")
	slow      = desc("zlimit_slow_commands_total", "Calls that took at least slowlog-log-slower-than.")
	info      = desc("zlimit_build_info", "1, with the version of zlimit.", "version")
	saves     = desc("zlimit_rdb_saves_total", "Snapshots that were begun.")
	rewrites  = desc("zlimit_aof_rewrites_total", "Rewrites of the append-only log that were begun.")

	maxclients = desc("zlimit_maxclients", "Limit of connected clients.")
	blocked    = desc("zlimit_blocked_clients", "Clients that wait in a blocking command.")
	rejections = desc("zlimit_rejected_connections_total",
		"Connections refused, because of maxclients or protected-mode.")
	handshakes = desc("zlimit_tls_handshakes_failed_total",
		"TLS handshakes that failed or took too long.")
	evictedClients = desc("zlimit_evicted_clients_total", "Clients closed by maxmemory-clients.")
	inBytes        = desc("zlimit_net_input_bytes_total", "Bytes read from clients.")
	outBytes       = desc("zlimit_net_output_bytes_total", "Bytes written to clients.")

	rewritable = desc("zlimit_config_rewritable",
		"1 if CONFIG REWRITE can replace the configuration file, as far as permissions and mounts show.")
	sentinels = desc("zlimit_sentinels_connected", "Sentinels that watch the server.")

	ahead = desc("zlimit_clock_ahead_seconds", "How far the clock is ahead of the system's.")
)

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		allowed, rejected, units, decisions, decisionUnits, fullness,
		ops, errs, clients, latency, keys, hits, bytesHeld, age,
		prefixKeys, prefixMax, refused,
		loading, logging, logOK, logBytes, logWaiting, delayed, rewriteOK, rewriting, saveOK, saving, changes,
		lastSave, denials, problems, used, maxmemory, evictions, expiries, slow, info, saves, rewrites,
		maxclients, blocked, rejections, handshakes, evictedClients, inBytes, outBytes, rewritable,
		sentinels, ahead,
	} {
		ch <- d
	}
	describeUpstream(ch)
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	const total, now = prometheus.CounterValue, prometheus.GaugeValue
	f := c.engine.Figures()
	put(ops, total, float64(f.Commands))
	put(errs, total, float64(f.Errors))
	put(clients, now, float64(f.Sessions))

	d := &f.Storage
	for _, g := range []struct {
		desc *prometheus.Desc
		on   bool
	}{
		{loading, d.Loading != nil},
		{logging, d.Logging},
		{logOK, d.LogErr == nil},
		{rewriteOK, !d.Rewrite.Failed},
		{rewriting, d.Rewrite.Running},
		{saveOK, !d.Save.Failed},
		{saving, d.Save.Running},
		{rewritable, f.Rewritable},
	} {
		put(g.desc, now, oneIf(g.on))
	}
	put(logBytes, now, float64(d.Log.Size))
	put(logWaiting, now, float64(d.Log.Buffered))
	put(delayed, total, float64(d.Log.Delayed))
	put(changes, now, float64(d.Changes))
	put(lastSave, now, float64(d.LastSaveS))
	for _, d := range f.Denials {
		put(denials, total, float64(d.Count), d.Reason)
	}
	for _, p := range f.Doctor {
		put(problems, total, float64(p.Count), p.Problem)
	}
	put(used, now, float64(f.UsedMemory))
	put(maxmemory, now, float64(f.MaxMemory))
	put(evictions, total, float64(f.Evicted))
	put(expiries, total, float64(f.Expired))
	put(slow, total, float64(f.SlowCommands))
	put(info, now, 1, engine.Version)
	put(saves, total, float64(d.Save.Started))
	put(rewrites, total, float64(d.Rewrite.Started))
	put(maxclients, now, float64(f.MaxClients))
	put(blocked, now, float64(f.Blocked))
	put(rejections, total, float64(f.Rejected))
	put(handshakes, total, float64(f.Handshakes))
	put(evictedClients, total, float64(f.EvictedClients))
	put(inBytes, total, float64(f.InBytes))
	put(outBytes, total, float64(f.OutBytes))
	put(sentinels, now, float64(f.Sentinels))
	put(ahead, now, seconds(f.ClockAheadUs))
	collectUpstream(f.Upstream, put)

	for _, p := range f.ByPrefix {
		for name, sum := range byAlgorithm(p.By) {
			put(decisions, total, float64(sum.Allowed), name, p.Prefix, "allowed")
			put(decisions, total, float64(sum.Denied), name, p.Prefix, "denied")
			put(decisions, total, float64(sum.Peeked), name, p.Prefix, "peeked")
			put(decisionUnits, total, float64(sum.Units), name, p.Prefix)
			if n, buckets := fullnessOf(&sum.Fullness); n > 0 {
				ch <- prometheus.MustNewConstHistogram(fullness, n, sum.Fullness.Sum, buckets, name, p.Prefix)
			}
		}
	}
	for name, sum := range byAlgorithm(f.Decisions) {
		put(allowed, total, float64(sum.Allowed), name)
		put(rejected, total, float64(sum.Denied), name)
		put(units, total, float64(sum.Units), name)
	}
	if f.Keyspace.Taken {
		for k, h := range f.Keyspace.By {
			kind := commands.Kind(k)
			put(keys, now, float64(h.Keys), kind.String())
			put(bytesHeld, now, float64(h.Bytes), kind.String())
			if kind.CountsHits() {
				put(hits, now, float64(h.Hits), kind.String())
			}
		}
		put(age, now, seconds(c.engine.Clock().MonotonicUs()-f.Keyspace.TakenUs))
	}
	for i := range f.Prefixes {
		p := &f.Prefixes[i]
		put(prefixKeys, now, float64(p.Keys), p.Prefix)
		put(prefixMax, now, float64(p.Max), p.Prefix)
		put(refused, total, float64(p.Refused), p.Prefix)
	}
	for i := range f.Latency {
		l := &f.Latency[i]
		ch <- prometheus.MustNewConstHistogram(latency, uint64(l.Timed), seconds(l.SumUs), bucketsOf(l),
			l.Command)
	}
}

// byAlgorithm returns the sums of decisions by commands.Decider.
func byAlgorithm(by []commands.Decisions) map[string]commands.Decisions {
	sums := make(map[string]commands.Decisions)
	for d := range by {
		name := commands.Decider(d).Algorithm()
		sum := sums[name]
		sum.Add(&by[d])
		sums[name] = sum
	}
	return sums
}

// bucketsOf returns cumulative buckets by upper bound in seconds. Only every second
// power of two is a bound, because each is a series for each command.
func bucketsOf(l *engine.CommandLatency) map[float64]uint64 {
	out := make(map[float64]uint64)
	sum := int64(0)
	for i, n := range l.Buckets[:stats.LatencyBuckets-1] {
		sum += n
		if i%2 == 0 {
			out[math.Ldexp(1e-6, i)] = uint64(sum)
		}
	}
	return out
}

// fullnessOf returns the number of decisions and cumulative buckets by upper bound.
func fullnessOf(h *commands.Fullness) (n uint64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(h.Buckets))
	for i, one := range h.Buckets {
		n += uint64(one)
		buckets[float64(i+1)/commands.FullnessBuckets] = n
	}
	return n, buckets
}

func seconds(us int64) float64 { return float64(us) / 1e6 }
