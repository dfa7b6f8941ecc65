package info

import (
	"fmt"
	"strings"
)

// A Note says why fields of INFO are not as in Redis 7.0.
type Note struct{ Section, Fields, Why string }

// Missing are the fields of Redis that are missing here.
var Missing = []Note{
	{
		"Server", "redis_build_id",
		"There is no such number of a Go program; redis_git_sha1 is the commit it was built from.",
	},
	{"Server", "gcc_version", "go_version is in its place."},
}

// Extra are the fields that Redis has not.
var Extra = []Note{
	{"Server", "zlimit_version", "redis_version is the version whose answers are given."},
	{"Server", "go_version", "What the program was compiled with."},
	{
		"Server", "config_rewritable",
		"1 if permissions and mounts let CONFIG REWRITE replace the file, which Sentinel asks for.",
	},
	{"Server", "config_rewrite_error", "Why they do not."},
	{"Clients", "pubsub_clients", "From Redis 7.4: connections that have subscribed."},
	{
		"Clients", "watching_clients total_watched_keys",
		"From Redis 7.4: connections that watch keys, and the keys.",
	},
	{"Clients", "total_blocking_keys", "From Redis 7.2: keys that blocked connections wait for."},
	{"Memory", "gc_cycles", "Collections of Go's since the start."},
	{"Memory", "mem_rl_doctor mem_rl_top mem_rl_trace", "What RL.DOCTOR, RL.TOP and RL.TRACE keep."},
	{"Memory", "maxmemory_reserve", "By how much keys are evicted earlier, to leave room for garbage."},
	{
		"Persistence", "rdb_last_load_keys_skipped",
		"Keys that load-skip-unsupported has left out of the snapshot or copy that was read last.",
	},
	{
		"Stats", "client_query_buffer_limit_disconnections client_output_buffer_limit_disconnections",
		"From Redis 7.4: connections that sent too much, or left too much unread.",
	},
	{"Stats", "evicted_scripts", "From Redis 7.4: scripts of EVAL that made room for others."},
	{
		"Stats",
		"acl_access_denied_auth acl_access_denied_cmd acl_access_denied_key acl_access_denied_channel",
		"From Redis 7.2: failed logins, and calls refused because of a command, a key or a channel.",
	},
	{"Stats", "tls_handshakes_failed", "TLS handshakes that failed or took too long."},
	{"Stats", "clock_ahead_usec", "How far the server's clock is ahead of the wall's."},
	{"Stats", "clock_shift_usec", "How far it was moved at a promotion, to continue the master's."},
	{"Replication", "sentinels_connected", "Clients subscribed to `__sentinel__:hello`, as Sentinels are."},
	{"CPU", "go_maxprocs", "How many threads run commands at once."},
	{"CPU", "goroutines", "One or two for each connection, and some more."},
	{"Limiter", "algorithm_*", "What limiters decided, by algorithm."},
	{"Limiter", "command_*", "What limiters decided, by command."},
	{"Limiter", "held_*", "What limiters hold."},
	{"Limiter", "limiter_*", "What limiters decided, and the keys under rl-max-keys-per-prefix."},
}

// Constant are the fields whose value never changes or has another meaning than
// in Redis.
var Constant = []Note{
	{"Server", "monotonic_clock atomicvar_api", "Go's own."},
	{"Server", "io_threads_active", "0: connections are served by as many threads as there are processors."},
	{
		"Memory", "used_memory_rss",
		"Resident memory of the process; where the system does not tell it, what Go has from the system.",
	},
	{
		"Memory", "used_memory_lua used_memory_vm_eval used_memory_vm_functions used_memory_vm_total",
		"Interpreters that wait for a script, at 80 kB each; those of libraries, with all that they hold, " +
			"at most. They are not part of used_memory.",
	},
	{
		"Memory", "allocator_allocated allocator_active allocator_resident",
		"Go's heap: objects, those that await collection included; their spans; all that Go has from the " +
			"system.",
	},
	{"Memory", "active_defrag_running", "0: Go does not move objects."},
	{
		"Memory", "lazyfree_pending_objects lazyfreed_objects",
		"0: whatever was removed is the collector's at once.",
	},
	{"Memory", "mem_cluster_links", "0: there is no cluster."},
	{
		"Persistence",
		"async_loading current_cow_peak current_cow_size current_cow_size_age current_fork_perc " +
			"current_save_keys_processed " +
			"current_save_keys_total rdb_last_cow_size aof_last_cow_size module_fork_in_progress " +
			"module_fork_last_cow_size",
		"0: nothing is forked.",
	},
	{
		"Persistence", "rdb_bgsave_in_progress rdb_last_bgsave_status rdb_last_bgsave_time_sec " +
			"rdb_current_bgsave_time_sec",
		"Saves only: in Redis a copy for replicas is one, too. Here BGSAVE during a copy is not refused " +
			"but waits for its end.",
	},
	{
		"Replication", "slave*",
		"state is send_bulk from the first byte of a copy until the replica has loaded it; Redis says " +
			"wait_bgsave while it sends a copy without a file.",
	},
	{
		"Stats", "total_net_repl_input_bytes total_net_repl_output_bytes instantaneous_input_repl_kbps " +
			"instantaneous_output_repl_kbps",
		"0: what replicas are sent is in total_net_output_bytes, and a master's stream is not counted.",
	},
	{
		"Stats", "slave_expires_tracked_keys",
		"0: what has expired on a replica that takes writes stays until its master removes it.",
	},
	{
		"Stats", "expired_stale_perc",
		"0: the index of deadlines knows what is due, nothing is estimated from samples.",
	},
	{"Stats", "expire_cycle_cpu_milliseconds", "How long the cycles took, with the pauses in them."},
	{"Stats", "latest_fork_usec total_forks", "0: nothing is forked."},
	{"Stats", "migrate_cached_sockets", "0: there is no MIGRATE."},
	{"Stats", "active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses " +
		"total_active_defrag_time " +
		"current_active_defrag_time", "0: Go does not move objects."},
	{
		"Stats", "unexpected_error_replies",
		"Commands of a master that were left out, as load-skip-unsupported says; otherwise the link stops.",
	},
	{"Stats", "dump_payload_sanitizations", "0: every payload is checked whole, always."},
	{
		"Stats", "io_threaded_reads_processed io_threaded_writes_processed",
		"0: no thread is for reading and writing only.",
	},
	{"Stats", "reply_buffer_shrinks reply_buffer_expands", "0: a connection's buffer follows its replies."},
	{
		"CPU", "used_cpu_sys_main_thread used_cpu_user_main_thread",
		"As of the whole process: commands run on every thread.",
	},
	{"Keyspace", "db*", "avg_ttl is the mean of all deadlines; Redis estimates it from samples."},
}

// Markdown returns the tables of docs/info.md.
func Markdown() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		notes []Note
	}{
		{"Not there", Missing},
		{"Ours", Extra},
		{"Constant, or of another meaning", Constant},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| Section | Field | Why |\n|---|---|---|\n", part.title)
		for _, n := range part.notes {
			fields := "`" + strings.ReplaceAll(n.Fields, " ", "`, `") + "`"
			fmt.Fprintf(&b, "| %s | %s | %s |\n", n.Section, fields, n.Why)
		}
	}
	return b.String()
}
