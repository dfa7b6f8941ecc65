package config

import "math"

// limitedDirectives are those that clients query or callers would rely on, of which
// only one value is true of zlimit.
var limitedDirectives = []Directive{
	{
		Name: "oom-score-adj", Kind: KindEnum, Default: "no",
		Values: []string{"no", "yes", "relative", "absolute"},
		Only:   []string{"no"}, Refusal: "zlimit does not set its OOM score: only 'no' is accepted",
		About: "Only no: zlimit does not set its OOM score.",
	},
	{
		Name: "oom-score-adj-values", Kind: KindList, Default: "0 200 800",
		Only:    []string{"0 200 800"},
		Refusal: "zlimit does not set its OOM score: only '0 200 800' is accepted",
		About:   "Only Redis' default: zlimit does not set its OOM score.",
	},
	only("no", "zlimit is not compiled with Jemalloc",
		Directive{Name: "activedefrag", Kind: KindBool}),
	only("no", "zlimit removes files of the log that it no longer needs",
		Directive{Name: "aof-disable-auto-gc", Kind: KindBool}),
	only("", noCPULists, Directive{Name: "aof_rewrite_cpulist", Kind: KindString, Immutable: true}),
	only("", noCPULists, Directive{Name: "bgsave_cpulist", Kind: KindString, Immutable: true}),
	only("", noCPULists, Directive{Name: "bio_cpulist", Kind: KindString, Immutable: true}),
	only("", noCPULists, Directive{Name: "server_cpulist", Kind: KindString, Immutable: true}),
	only("no", "zlimit has no modules", Directive{
		Name: "enable-module-command", Kind: KindEnum, Values: []string{"no", "yes", "local"},
		Immutable: true,
	}),
	only("default", onSignal,
		Directive{Name: "shutdown-on-sigint", Kind: KindShutdown, Values: onSignalValues}),
	only("default", onSignal,
		Directive{Name: "shutdown-on-sigterm", Kind: KindShutdown, Values: onSignalValues}),
	only("0", "zlimit does not mark its sockets",
		Directive{Name: "socket-mark-id", Kind: KindInt, Max: math.MaxUint32, Immutable: true}),
	only("no", "zlimit does not log to syslog",
		Directive{Name: "syslog-enabled", Kind: KindBool, Immutable: true}),
}

const (
	noCPULists = "zlimit does not choose its processors: start it with taskset"
	onSignal   = "zlimit saves at a signal if there are save points"
)

var onSignalValues = []string{"default", "save", "nosave", "now", "force"}

// only returns a directive of which only its default is accepted, because of
// reason.
func only(value, reason string, d Directive) Directive {
	shown := value
	if value == "" {
		shown = `""`
	}
	d.Default, d.Only = value, []string{value}
	d.Refusal = reason + ": only " + shown + " is accepted"
	d.About = "Only " + shown + ": " + reason + "."
	return d
}
