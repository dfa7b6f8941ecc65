package info

import (
	"strconv"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/engine/pubsub"
)

var statRows = []row{
	fact("total_connections_received", func(f *Facts) any { return f.Stats.Connections.Load() }),
	fact("total_commands_processed", func(f *Facts) any { return f.Stats.Commands() },
		counter("zlimit_ops_total", "Commands run, including those of scripts and transactions.")),
	fact("instantaneous_ops_per_sec", func(f *Facts) any { ops, _, _ := f.Stats.Rates(); return ops }),
	fact("total_net_input_bytes", func(f *Facts) any { return f.Stats.Traffic.InBytes() },
		counter("zlimit_net_input_bytes_total", "Bytes read from clients.")),
	fact("total_net_output_bytes", func(f *Facts) any { return f.Stats.Traffic.OutBytes() },
		counter("zlimit_net_output_bytes_total", "Bytes written to clients.")),
	always("total_net_repl_input_bytes total_net_repl_output_bytes", 0, replicationTraffic),
	family("instantaneous_", func(f *Facts, put put) {
		_, in, out := f.Stats.Rates()
		put("input_kbps", ratio(float64(in)/1024))
		put("output_kbps", ratio(float64(out)/1024))
	}),
	always("instantaneous_input_repl_kbps instantaneous_output_repl_kbps", "0.00", replicationTraffic),
	fact("rejected_connections", func(f *Facts) any { return f.Stats.Refusals.Rejected.Load() },
		counter("zlimit_rejected_connections_total",
			"Connections refused, because of maxclients or protected-mode.")),
	family("sync_", func(f *Facts, put put) {
		full, partial, refused := f.Master.Counts()
		put("full", full)
		put("partial_ok", partial)
		put("partial_err", refused)
	}),
	fact("expired_keys", func(f *Facts) any { return f.Store.Expired() },
		counter("zlimit_expired_keys_total", "Keys removed because their deadline had passed.")),
	always("expired_stale_perc", "0.00",
		differs("0: the index of deadlines knows what is due, nothing is estimated from samples.")),
	fact("expired_time_cap_reached_count", func(f *Facts) any { return f.Room.Reclaims.Cuts.Load() }),
	fact("expire_cycle_cpu_milliseconds", func(f *Facts) any { return f.Room.Reclaims.Us.Load() / 1000 },
		differs("How long the cycles took, with the pauses in them.")),
	fact("evicted_keys", func(f *Facts) any { return f.Room.Evicted.Load() },
		counter("zlimit_evicted_keys_total", "Keys evicted because memory was full.")),
	fact("evicted_clients", func(f *Facts) any { return f.Stats.Refusals.Evicted.Load() },
		counter("zlimit_evicted_clients_total", "Clients closed by maxmemory-clients.")),
	fact("evicted_scripts", func(f *Facts) any { return f.Scripts.Stats().Evicted },
		extra("From Redis 7.4: scripts of EVAL that made room for others.")),
	fact("", func(f *Facts) any { return f.SlowLog.Total() },
		counter("zlimit_slow_commands_total", "Calls that took at least slowlog-log-slower-than.")),
	fact("total_eviction_exceeded_time", func(f *Facts) any {
		us, _ := f.Room.ExceededUs(f.MonotonicUs)
		return us / 1000
	}),
	fact("current_eviction_exceeded_time", func(f *Facts) any {
		_, us := f.Room.ExceededUs(f.MonotonicUs)
		return us / 1000
	}),
	fact("keyspace_hits", func(f *Facts) any { return f.Keyspace.Hits }),
	fact("keyspace_misses", func(f *Facts) any { return f.Keyspace.Misses }),
	family("pubsub", func(f *Facts, put put) {
		topics := f.Topics()
		put("_channels", topics[pubsub.Channels])
		put("_patterns", topics[pubsub.Patterns])
		put("shard_channels", topics[pubsub.ShardChannels])
	}),
	always("latest_fork_usec total_forks", 0, noFork),
	always("migrate_cached_sockets", 0, differs("0: there is no MIGRATE.")),
	always("slave_expires_tracked_keys", 0, differs(
		"0: what has expired on a replica that takes writes stays until its master removes it.")),
	always("active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses "+
		"total_active_defrag_time current_active_defrag_time", 0, differs("0: Go does not move objects.")),
	fact("tracking_total_keys", func(f *Facts) any { return f.Tracking.Keys() }),
	fact("tracking_total_items", func(f *Facts) any { return f.Tracking.Items() }),
	fact("tracking_total_prefixes", func(f *Facts) any { return f.Tracking.Prefixes() }),
	fact("unexpected_error_replies", func(f *Facts) any { return f.Unexpected() }, differs(
		"Commands of a master that were left out, as load-skip-unsupported says; otherwise the link stops.")),
	fact("total_error_replies", func(f *Facts) any { return f.Stats.Errors.Total() },
		counter("zlimit_errors_total", "Error replies.")),
	always("dump_payload_sanitizations", 0, differs("0: every payload is checked whole, always.")),
	fact("total_reads_processed", func(f *Facts) any { return f.Stats.Traffic.Reads() }),
	fact("total_writes_processed", func(f *Facts) any { return f.Stats.Traffic.Writes() }),
	always("io_threaded_reads_processed io_threaded_writes_processed", 0,
		differs("0: no thread is for reading and writing only.")),
	always("reply_buffer_shrinks reply_buffer_expands", 0,
		differs("0: a connection's buffer follows its replies.")),
	fact("client_query_buffer_limit_disconnections", func(f *Facts) any {
		return f.Stats.Refusals.QueryLimit.Load()
	}, disconnections),
	fact("client_output_buffer_limit_disconnections", func(f *Facts) any {
		return f.Stats.Refusals.OutputLimit.Load()
	}, disconnections),
	family("acl_access_denied_", func(f *Facts, put put) {
		put("auth", f.ACLLog.Denied(acl.DeniedAuth), "auth")
		put("cmd", f.ACLLog.Denied(acl.DeniedCommand), "command")
		put("key", f.ACLLog.Denied(acl.DeniedKey), "key")
		put("channel", f.ACLLog.Denied(acl.DeniedChannel), "channel")
	}, counter("zlimit_acl_denied_total",
		"Failed logins (auth), and calls refused by the ACL, by reason.", "reason"),
		extra("From Redis 7.2: failed logins, and calls refused because of a command, a key or a channel.",
			"auth", "cmd", "key", "channel")),
	fact("tls_handshakes_failed", func(f *Facts) any { return f.Stats.Refusals.Handshakes.Load() },
		counter("zlimit_tls_handshakes_failed_total", "TLS handshakes that failed or took too long."),
		extra("TLS handshakes that failed or took too long.")),
	fact("clock_ahead_usec", func(f *Facts) any { return usec(f.Clock.AheadUs()) },
		gauge("zlimit_clock_ahead_seconds", "How far the clock is ahead of the system's."),
		extra("How far the server's clock is ahead of the wall's.")),
	fact("clock_shift_usec", func(f *Facts) any { return f.Clock.ShiftUs() },
		extra("How far it was moved at a promotion, to continue the master's.")),
}

var (
	replicationTraffic = differs("0: what replicas are sent is in total_net_output_bytes, and a master's " +
		"stream is not counted.")
	disconnections = extra("From Redis 7.4: connections that sent too much, or left too much unread.")
)

var keyspaceRows = []row{family("db", func(f *Facts, put put) {
	for i := range f.Keyspace.DBs {
		if db := &f.Keyspace.DBs[i]; db.Keys > 0 {
			put(strconv.Itoa(i), pairs{
				{"keys", db.Keys}, {"expires", db.Expiring}, {"avg_ttl", db.AvgTTLMs(f.NowUs / 1000)},
			})
		}
	}
}, differs("avg_ttl is the mean of all deadlines; Redis estimates it from samples.", "*"))}
