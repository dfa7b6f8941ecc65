package info

import (
	"fmt"
	"os"
	"runtime"

	"github.com/zlimit/zlimit/calendar"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/process"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var serverRows = []row{
	fact("redis_version", func(*Facts) any { return commands.RedisVersion }),
	family("redis_git_", func(_ *Facts, put put) {
		commit, dirty := process.Revision()
		put("sha1", commit)
		put("dirty", dirty)
	}),
	missing("redis_build_id",
		"There is no such number of a Go program; redis_git_sha1 is the commit it was built from."),
	missing("gcc_version", "go_version is in its place."),
	family("zlimit_version", func(f *Facts, put put) { put("", word{f.Version, true}, f.Version) },
		gauge("zlimit_build_info", "1, with the version of zlimit.", "version"),
		extra("redis_version is the version whose answers are given.")),
	fact("zlimit_zones", func(*Facts) any { return calendar.Release() },
		extra("The release of the IANA database whose time zones windows of the calendar have.")),
	fact("redis_mode", func(f *Facts) any {
		if f.Config.Bool("cluster-enabled") {
			return "cluster"
		}
		return "standalone"
	}),
	fact("os", func(*Facts) any { return process.OSName() }),
	always("arch_bits", 32<<(^uint(0)>>63)),
	always("monotonic_clock", "go", differs("Go's own.")),
	fact("multiplexing_api", func(*Facts) any { return process.Poller() }),
	always("atomicvar_api", "go", differs("Go's own.")),
	always("go_version", runtime.Version(), extra("What the program was compiled with.")),
	always("process_id", os.Getpid()),
	always("process_supervised", "no"),
	fact("run_id", func(f *Facts) any { return f.RunID }),
	fact("tcp_port", func(f *Facts) any { return f.Port }),
	fact("server_time_usec", func(f *Facts) any { return f.NowUs }),
	fact("uptime_in_seconds", func(f *Facts) any { return f.uptime() }),
	fact("uptime_in_days", func(f *Facts) any { return f.uptime() / 86400 }),
	fact("hz configured_hz", func(f *Facts) any { return f.Config.Int("hz") }),
	fact("lru_clock", func(f *Facts) any { return store.UseClock(f.NowUs / 1000) }),
	fact("executable", func(*Facts) any {
		path, _ := os.Executable()
		return path
	}),
	fact("config_file", func(f *Facts) any { return f.Config.Path() }),
	fact("config_rewritable", func(f *Facts) any { return f.RewriteError() == nil },
		gauge("zlimit_config_rewritable",
			"1 if CONFIG REWRITE can replace the configuration file, as far as permissions and mounts show."),
		extra("1 if permissions and mounts let CONFIG REWRITE replace the file, which Sentinel asks for.")),
	fact("config_rewrite_error", func(f *Facts) any { return resp.OneLine(f.RewriteError().Error()) },
		condition(func(f *Facts) bool { return f.RewriteError() != nil }), extra("Why they do not.")),
	always("io_threads_active", 0,
		differs("0: connections are served by as many threads as there are processors.")),
	fact("shutdown_in_milliseconds", func(f *Facts) any { return f.ShutdownInMs() },
		condition(func(f *Facts) bool { return f.ShutdownInMs() >= 0 })),
}

// uptime returns seconds.
func (f *Facts) uptime() int64 { return max(f.NowUs-f.StartUs, 0) / 1_000_000 }

const wholeProcess = "As of the whole process: commands run on every thread."

var cpuRows = []row{
	family("used_cpu_", func(_ *Facts, put put) {
		own, children := process.Times()
		for _, t := range []struct {
			suffix string
			us     int64
		}{
			{"sys", own.SystemUs},
			{"user", own.UserUs},
			{"sys_children", children.SystemUs},
			{"user_children", children.UserUs},
			{"sys_main_thread", own.SystemUs},
			{"user_main_thread", own.UserUs},
		} {
			put(t.suffix, fmt.Sprintf("%d.%06d", t.us/1_000_000, t.us%1_000_000))
		}
	}, differs(wholeProcess, "sys_main_thread", "user_main_thread")),
	fact("go_maxprocs", func(*Facts) any { return runtime.GOMAXPROCS(0) },
		extra("How many threads run commands at once.")),
	fact("goroutines", func(*Facts) any { return runtime.NumGoroutine() },
		extra("One or two for each connection, and some more.")),
}
