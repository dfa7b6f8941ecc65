package info

import (
	"fmt"

	"github.com/zlimit/zlimit/engine/durable"
)

func writePersistence(f *Facts, w *writer) {
	st := &f.Persistence
	w.put("loading", flag(st.Loading != nil))
	w.put("async_loading", 0)
	w.put("current_cow_peak", 0)
	w.put("current_cow_size", 0)
	w.put("current_cow_size_age", 0)
	w.put("current_fork_perc", "0.00")
	w.put("current_save_keys_processed", 0)
	w.put("current_save_keys_total", 0)
	w.put("rdb_changes_since_last_save", st.Changes)
	w.put("rdb_bgsave_in_progress", flag(st.Save.Running))
	w.put("rdb_last_save_time", st.LastSaveS)
	w.put("rdb_last_bgsave_status", okOrErr(!st.Save.Failed))
	w.put("rdb_last_bgsave_time_sec", st.Save.TookS)
	w.put("rdb_current_bgsave_time_sec", st.Save.ElapsedS)
	w.put("rdb_saves", st.Save.Started)
	w.put("rdb_last_cow_size", 0)
	w.put("rdb_last_load_keys_expired", st.KeysExpired)
	w.put("rdb_last_load_keys_loaded", st.KeysLoaded)
	w.put("rdb_last_load_keys_skipped", st.KeysSkipped)
	w.put("aof_enabled", flag(st.Logging || st.Starting))
	w.put("aof_rewrite_in_progress", flag(st.Rewrite.Running))
	w.put("aof_rewrite_scheduled", flag(st.RewriteScheduled))
	w.put("aof_last_rewrite_time_sec", st.Rewrite.TookS)
	w.put("aof_current_rewrite_time_sec", st.Rewrite.ElapsedS)
	w.put("aof_last_bgrewrite_status", okOrErr(!st.Rewrite.Failed))
	w.put("aof_rewrites", st.Rewrite.Started)
	w.put("aof_rewrites_consecutive_failures", st.Rewrite.Failures)
	w.put("aof_last_write_status", okOrErr(st.LogErr == nil))
	w.put("aof_last_cow_size", 0)
	w.put("module_fork_in_progress", 0)
	w.put("module_fork_last_cow_size", 0)
	if st.Logging || st.Starting {
		w.put("aof_current_size", st.Log.Size)
		w.put("aof_base_size", st.Log.BaseSize)
		w.put("aof_pending_rewrite", flag(st.RewriteScheduled))
		w.put("aof_buffer_length", st.Log.Buffered)
		w.put("aof_pending_bio_fsync", flag(st.Log.Syncing))
		w.put("aof_delayed_fsync", st.Log.Delayed)
	}
	if st.Loading != nil {
		writeLoading(st.Loading, f.NowUs/1_000_000, w)
	}
}

// writeLoading writes how far loading has come.
func writeLoading(l *durable.LoadStatus, nowS int64, w *writer) {
	total := max(l.Total, 1)
	eta := int64(1)
	if elapsed := nowS - l.BeganS; l.Done > 0 {
		eta = int64(float64(elapsed) * float64(total-l.Done) / float64(l.Done))
	}
	w.put("loading_start_time", l.BeganS)
	w.put("loading_total_bytes", l.Total)
	w.put("loading_rdb_used_mem", 0)
	w.put("loading_loaded_bytes", l.Done)
	w.put("loading_loaded_perc", fmt.Sprintf("%.2f", float64(l.Done)*100/float64(total)))
	w.put("loading_eta_seconds", eta)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

func okOrErr(ok bool) string {
	if ok {
		return "ok"
	}
	return "err"
}
