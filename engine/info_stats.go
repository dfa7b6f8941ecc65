package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
)

func infoStats(e *Engine, f *infoFacts, c *commands.Ctx, w *infoWriter) {
	s := &e.stats
	ops, in, out := s.Rates()
	w.put("total_connections_received", s.Connections.Load())
	w.put("total_commands_processed", s.Commands())
	w.put("instantaneous_ops_per_sec", ops)
	w.put("total_net_input_bytes", s.Traffic.InBytes())
	w.put("total_net_output_bytes", s.Traffic.OutBytes())
	w.put("total_net_repl_input_bytes", 0)
	w.put("total_net_repl_output_bytes", 0)
	w.kilobytes("instantaneous_input_kbps", in)
	w.kilobytes("instantaneous_output_kbps", out)
	w.kilobytes("instantaneous_input_repl_kbps", 0)
	w.kilobytes("instantaneous_output_repl_kbps", 0)
	w.put("rejected_connections", s.Rejected.Load())
	w.put("sync_full", 0)
	w.put("sync_partial_ok", 0)
	w.put("sync_partial_err", 0)
	w.put("expired_keys", f.keyspace.Expired)
	w.put("expired_stale_perc", "0.00")
	w.put("expired_time_cap_reached_count", s.ReclaimCuts.Load())
	w.put("expire_cycle_cpu_milliseconds", s.ReclaimUs.Load()/1000)
	w.put("evicted_keys", e.evict.evicted.Load())
	w.put("evicted_clients", s.Evicted.Load())
	w.put("evicted_scripts", e.scripts.Stats().Evicted)
	exceeded, exceededNow := e.evict.exceededUs(e.clock.MonotonicUs())
	w.put("total_eviction_exceeded_time", exceeded/1000)
	w.put("current_eviction_exceeded_time", exceededNow/1000)
	w.put("keyspace_hits", f.keyspace.Hits)
	w.put("keyspace_misses", f.keyspace.Misses)
	topics := caller(c).AcquireBroker().Topics()
	w.put("pubsub_channels", topics[pubsub.Channels])
	w.put("pubsub_patterns", topics[pubsub.Patterns])
	w.put("pubsubshard_channels", topics[pubsub.ShardChannels])
	w.put("latest_fork_usec", 0)
	w.put("total_forks", 0)
	w.put("migrate_cached_sockets", 0)
	w.put("slave_expires_tracked_keys", 0)
	w.put("active_defrag_hits", 0)
	w.put("active_defrag_misses", 0)
	w.put("active_defrag_key_hits", 0)
	w.put("active_defrag_key_misses", 0)
	w.put("total_active_defrag_time", 0)
	w.put("current_active_defrag_time", 0)
	w.put("tracking_total_keys", e.tracked.table.keys.Load())
	w.put("tracking_total_items", e.tracked.table.items.Load())
	w.put("tracking_total_prefixes", e.tracked.prefixes.len())
	w.put("unexpected_error_replies", 0)
	w.put("total_error_replies", s.Errors.Total())
	w.put("dump_payload_sanitizations", 0)
	w.put("total_reads_processed", s.Traffic.Reads())
	w.put("total_writes_processed", s.Traffic.Writes())
	w.put("io_threaded_reads_processed", 0)
	w.put("io_threaded_writes_processed", 0)
	w.put("reply_buffer_shrinks", 0)
	w.put("reply_buffer_expands", 0)
	w.put("client_query_buffer_limit_disconnections", s.QueryLimit.Load())
	w.put("client_output_buffer_limit_disconnections", s.OutputLimit.Load())
	w.put("acl_access_denied_auth", e.aclLog.Denied(acl.DeniedAuth))
	w.put("acl_access_denied_cmd", e.aclLog.Denied(acl.DeniedCommand))
	w.put("acl_access_denied_key", e.aclLog.Denied(acl.DeniedKey))
	w.put("acl_access_denied_channel", e.aclLog.Denied(acl.DeniedChannel))
	w.put("tls_handshakes_failed", s.Handshakes.Load())
	w.put("clock_ahead_usec", e.clock.AheadUs())
}

func (w *infoWriter) kilobytes(field string, n int64) {
	w.put(field, fmt.Sprintf("%.2f", float64(n)/1024))
}
