package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
)

func infoPersistence(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	p := &e.persist
	log := p.log.Load()
	p.mu.Lock()
	jobs, starting := p.jobs, p.starting
	p.mu.Unlock()
	loading := p.loading.Load()
	nowS := e.unixSeconds()
	present := [2]bool{}
	for kind := range present {
		present[kind] = jobs.now != nil && int(jobs.now.kind) == kind
	}
	elapsed := func(kind jobKind) int64 {
		if !present[kind] {
			return -1
		}
		return max(nowS-jobs.now.beganS, 0)
	}

	w.put("loading", flag(loading != nil))
	w.put("async_loading", 0)
	w.put("current_cow_peak", 0)
	w.put("current_cow_size", 0)
	w.put("current_cow_size_age", 0)
	w.put("current_fork_perc", "0.00")
	w.put("current_save_keys_processed", 0)
	w.put("current_save_keys_total", 0)
	w.put("rdb_changes_since_last_save", p.changes.Load())
	w.put("rdb_bgsave_in_progress", flag(present[saving]))
	w.put("rdb_last_save_time", jobs.lastSaveS)
	w.put("rdb_last_bgsave_status", okOrErr(!jobs.outcomes[saving].failed))
	w.put("rdb_last_bgsave_time_sec", jobs.outcomes[saving].took())
	w.put("rdb_current_bgsave_time_sec", elapsed(saving))
	w.put("rdb_saves", jobs.saves)
	w.put("rdb_last_cow_size", 0)
	w.put("rdb_last_load_keys_expired", p.loaded.expired.Load())
	w.put("rdb_last_load_keys_loaded", p.loaded.loaded.Load())
	w.put("aof_enabled", flag(log != nil || starting != nil))
	w.put("aof_rewrite_in_progress", flag(present[rewriting]))
	w.put("aof_rewrite_scheduled", flag(jobs.rewriteNext))
	w.put("aof_last_rewrite_time_sec", jobs.outcomes[rewriting].took())
	w.put("aof_current_rewrite_time_sec", elapsed(rewriting))
	w.put("aof_last_bgrewrite_status", okOrErr(!jobs.outcomes[rewriting].failed))
	w.put("aof_rewrites", jobs.rewrites)
	w.put("aof_rewrites_consecutive_failures", jobs.outcomes[rewriting].failures)
	w.put("aof_last_write_status", okOrErr(log == nil || log.Err() == nil))
	w.put("aof_last_cow_size", 0)
	w.put("module_fork_in_progress", 0)
	w.put("module_fork_last_cow_size", 0)
	if log == nil {
		log = starting
	}
	if log != nil {
		s := log.Status()
		w.put("aof_current_size", s.Size)
		w.put("aof_base_size", s.BaseSize)
		w.put("aof_pending_rewrite", flag(jobs.rewriteNext))
		w.put("aof_buffer_length", s.Buffered)
		w.put("aof_pending_bio_fsync", flag(s.Syncing))
		w.put("aof_delayed_fsync", s.Delayed)
	}
	if loading != nil {
		loading.show(w, nowS)
	}
}

// show writes how far loading has come.
func (p *progress) show(w *infoWriter, nowS int64) {
	done, total := p.done.Load(), max(p.total.Load(), 1)
	eta := int64(1)
	if elapsed := nowS - p.beganS; done > 0 {
		eta = int64(float64(elapsed) * float64(total-done) / float64(done))
	}
	w.put("loading_start_time", p.beganS)
	w.put("loading_total_bytes", p.total.Load())
	w.put("loading_rdb_used_mem", 0)
	w.put("loading_loaded_bytes", done)
	w.put("loading_loaded_perc", fmt.Sprintf("%.2f", float64(done)*100/float64(total)))
	w.put("loading_eta_seconds", eta)
}

// took is how long the last job took in whole seconds, -1 where there was none.
func (o *outcome) took() int64 {
	if !o.ended {
		return -1
	}
	return o.tookS
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

// resetStats is CONFIG RESETSTAT.
func (p *persistence) resetStats() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs.saves, p.jobs.rewrites = 0, 0
	p.jobs.outcomes[rewriting].failures = 0
}
