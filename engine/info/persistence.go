package info

var persistenceRows = []row{
	fact("loading", func(f *Facts) any { return f.Storage().Loading != nil },
		gauge("zlimit_loading", "1 while files are loaded.")),
	always("async_loading current_cow_peak current_cow_size current_cow_size_age", 0, noFork),
	always("current_fork_perc", "0.00", noFork),
	always("current_save_keys_processed current_save_keys_total", 0, noFork),
	fact("rdb_changes_since_last_save", func(f *Facts) any { return f.Storage().Changes },
		gauge("zlimit_rdb_changes", "Changes since the last snapshot, if counted.")),
	fact("rdb_bgsave_in_progress", func(f *Facts) any { return f.Storage().Save.Running },
		gauge("zlimit_rdb_saving", "1 while a snapshot is saved."), savesOnly),
	fact("rdb_last_save_time", func(f *Facts) any { return f.Storage().LastSaveS },
		gauge("zlimit_rdb_last_save_timestamp_seconds",
			"Time of the last snapshot, initially of the start.")),
	fact("rdb_last_bgsave_status", func(f *Facts) any { return okOrErr(!f.Storage().Save.Failed) },
		gauge("zlimit_rdb_ok", "0 if the last snapshot failed."), savesOnly),
	fact("rdb_last_bgsave_time_sec", func(f *Facts) any { return f.Storage().Save.TookS }, savesOnly),
	fact("rdb_current_bgsave_time_sec", func(f *Facts) any { return f.Storage().Save.ElapsedS }, savesOnly),
	fact("rdb_saves", func(f *Facts) any { return f.Storage().Save.Started },
		counter("zlimit_rdb_saves_total", "Snapshots that were begun.")),
	always("rdb_last_cow_size", 0, noFork),
	fact("rdb_last_load_keys_expired", func(f *Facts) any { return f.Storage().KeysExpired }),
	fact("rdb_last_load_keys_loaded", func(f *Facts) any { return f.Storage().KeysLoaded }),
	fact("rdb_last_load_keys_skipped", func(f *Facts) any { return f.Storage().KeysSkipped }, extra(
		"Keys that load-skip-unsupported has left out of the snapshot or copy that was read last.")),
	fact("aof_enabled", func(f *Facts) any { return word{logging(f), f.Storage().Logging} },
		gauge("zlimit_aof_enabled", "1 if the append-only log is enabled.")),
	fact("aof_rewrite_in_progress", func(f *Facts) any { return f.Storage().Rewrite.Running },
		gauge("zlimit_aof_rewriting", "1 while the append-only log is rewritten.")),
	fact("aof_rewrite_scheduled", func(f *Facts) any { return f.Storage().RewriteScheduled }),
	fact("aof_last_rewrite_time_sec", func(f *Facts) any { return f.Storage().Rewrite.TookS }),
	fact("aof_current_rewrite_time_sec", func(f *Facts) any { return f.Storage().Rewrite.ElapsedS }),
	fact("aof_last_bgrewrite_status", func(f *Facts) any { return okOrErr(!f.Storage().Rewrite.Failed) },
		gauge("zlimit_aof_rewrite_ok", "0 if the last rewrite of the append-only log failed.")),
	fact("aof_rewrites", func(f *Facts) any { return f.Storage().Rewrite.Started },
		counter("zlimit_aof_rewrites_total", "Rewrites of the append-only log that were begun.")),
	fact("aof_rewrites_consecutive_failures", func(f *Facts) any { return f.Storage().Rewrite.Failures }),
	fact("aof_last_write_status", func(f *Facts) any { return okOrErr(f.Storage().LogErr == nil) },
		gauge("zlimit_aof_ok", "0 while the append-only log cannot be written and writes are refused.")),
	always("aof_last_cow_size module_fork_in_progress module_fork_last_cow_size", 0, noFork),
	fact("aof_current_size", func(f *Facts) any { return f.Storage().Log.Size }, logging,
		gauge("zlimit_aof_bytes", "Bytes of the append-only log.")),
	fact("aof_base_size", func(f *Facts) any { return f.Storage().Log.BaseSize }, logging),
	fact("aof_pending_rewrite", func(f *Facts) any { return f.Storage().RewriteScheduled }, logging),
	fact("aof_buffer_length", func(f *Facts) any { return f.Storage().Log.Buffered }, logging,
		gauge("zlimit_aof_waiting_bytes", "Bytes of the append-only log buffered in memory.")),
	fact("aof_pending_bio_fsync", func(f *Facts) any { return f.Storage().Log.Syncing }, logging),
	fact("aof_delayed_fsync", func(f *Facts) any { return f.Storage().Log.Delayed }, logging,
		counter("zlimit_aof_delayed_fsyncs_total",
			"Syncs delayed because the previous one was still running.")),
	family("loading_", putLoading, condition(func(f *Facts) bool { return f.Storage().Loading != nil })),
}

var (
	noFork    = differs("0: nothing is forked.")
	savesOnly = differs("Saves only: in Redis a copy for replicas is one, too. Here BGSAVE during a copy " +
		"is not refused but waits for its end.")
	logging = condition(func(f *Facts) bool { return f.Storage().Logging || f.Storage().Starting })
)

// putLoading puts how far loading has come.
func putLoading(f *Facts, put put) {
	l := f.Storage().Loading
	total := max(l.Total, 1)
	eta := int64(1)
	if elapsed := f.NowUs/1_000_000 - l.BeganS; l.Done > 0 {
		eta = int64(float64(elapsed) * float64(total-l.Done) / float64(l.Done))
	}
	put("start_time", l.BeganS)
	put("total_bytes", l.Total)
	put("rdb_used_mem", 0)
	put("loaded_bytes", l.Done)
	put("loaded_perc", ratio(float64(l.Done)*100/float64(total)))
	put("eta_seconds", eta)
}

func okOrErr(ok bool) word {
	if ok {
		return word{"ok", true}
	}
	return word{"err", false}
}
