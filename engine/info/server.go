package info

import (
	"os"
	"runtime"

	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/store"
)

func writeServer(f *Facts, w *writer) {
	uptime := max(f.NowUs-f.StartUs, 0) / 1_000_000
	commit, dirty := process.Revision()
	w.put("redis_version", f.Redis)
	w.put("redis_git_sha1", commit)
	w.put("redis_git_dirty", dirty)
	w.put("zlimit_version", f.Version)
	w.put("redis_mode", "standalone")
	w.put("os", process.OSName())
	w.put("arch_bits", 32<<(^uint(0)>>63))
	w.put("monotonic_clock", "go")
	w.put("multiplexing_api", process.Poller())
	w.put("atomicvar_api", "go")
	w.put("go_version", runtime.Version())
	w.put("process_id", os.Getpid())
	w.put("process_supervised", "no")
	w.put("run_id", f.RunID)
	w.put("tcp_port", f.Port)
	w.put("server_time_usec", f.NowUs)
	w.put("uptime_in_seconds", uptime)
	w.put("uptime_in_days", uptime/86400)
	w.put("hz", f.Config.Int("hz"))
	w.put("configured_hz", f.Config.Int("hz"))
	w.put("lru_clock", store.UseClock(f.NowUs/1000))
	executable, _ := os.Executable()
	w.put("executable", executable)
	w.put("config_file", f.Config.Path())
	w.put("config_rewritable", flag(f.RewriteErr == ""))
	if f.RewriteErr != "" {
		w.put("config_rewrite_error", f.RewriteErr)
	}
	w.put("io_threads_active", 0)
	if f.ShutdownInMs >= 0 {
		w.put("shutdown_in_milliseconds", f.ShutdownInMs)
	}
}

func writeCPU(_ *Facts, w *writer) {
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
