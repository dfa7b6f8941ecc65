package config

import "math"

// unusedDirectives are the remaining directives of Redis' redis.conf. Nothing in
// zlimit depends on them, so a file may set them.
var unusedDirectives = []Directive{
	within(unused("active-defrag-cycle-max", KindInt, "25", goMemory), 1, 99),
	within(unused("active-defrag-cycle-min", KindInt, "1", goMemory), 1, 99),
	unused("active-defrag-ignore-bytes", KindMemory, "104857600", goMemory),
	within(unused("active-defrag-max-scan-fields", KindInt, "1000", goMemory), 1, math.MaxInt64),
	within(unused("active-defrag-threshold-lower", KindInt, "10", goMemory), 0, 1000),
	within(unused("active-defrag-threshold-upper", KindInt, "100", goMemory), 0, 1000),
	within(unused("active-expire-effort", KindInt, "1", "expired keys are found without a search."), 1, 10),
	unused("activerehashing", KindBool, "yes", ownTables),
	immutable(unused("always-show-logo", KindBool, "no", "there is no logo.")),
	unused("bind-source-addr", KindString, "",
		"the system chooses the address from which a replica connects."),
	unused("crash-log-enabled", KindBool, "yes", ownCrashes),
	unused("crash-memcheck-enabled", KindBool, "yes", ownCrashes),
	immutable(unused("disable-thp", KindBool, "yes", goMemory)),
	unused("dynamic-hz", KindBool, "yes", "hz is constant."),
	unused("hll-sparse-max-bytes", KindMemory, "3000", noSuchType),
	unused("ignore-warnings", KindString, "", "there are no such warnings."),
	within(immutable(unused("io-threads", KindInt, "1", ownLoops)), 1, 128),
	immutable(unused("io-threads-do-reads", KindBool, "no", ownLoops)),
	unused("jemalloc-bg-thread", KindBool, "yes", goMemory),
	unused("lazyfree-lazy-eviction", KindBool, "no", goMemory),
	unused("lazyfree-lazy-expire", KindBool, "no", goMemory),
	unused("lazyfree-lazy-server-del", KindBool, "no", goMemory),
	unused("lazyfree-lazy-user-del", KindBool, "no", goMemory),
	unused("lazyfree-lazy-user-flush", KindBool, "no", goMemory),
	within(unused("list-compress-depth", KindInt, "0", noSuchType), 0, math.MaxInt32),
	within(unused("list-max-listpack-size", KindInt, "-2", noSuchType, "list-max-ziplist-size"),
		math.MinInt32, math.MaxInt32),
	within(hidden(unused("loading-process-events-interval-bytes", KindInt, "2097152",
		"clients get replies throughout loading.")), 1024, math.MaxInt32),
	valid(validTitle, unused("proc-title-template", KindString,
		"{title} {listen-addr} {server-mode}", noTitle)),
	immutable(unused("set-proc-title", KindBool, "yes", noTitle)),
	unused("stream-node-max-bytes", KindMemory, "4096", noSuchType),
	unused("stream-node-max-entries", KindInt, "100", noSuchType),
	enum(immutable(unused("syslog-facility", KindEnum, "local0", noSyslog)),
		"user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"),
	immutable(unused("syslog-ident", KindString, "redis", noSyslog)),
	hidden(unused("use-exit-on-panic", KindBool, "no", ownCrashes)),
}

// Why a directive has no effect.
const (
	goMemory   = "Go manages memory."
	noSyslog   = "zlimit does not log to syslog."
	noSuchType = "there are no keys of that type, or they have only one encoding."
	noTitle    = "the process does not change its title."
	ownCrashes = "Go's runtime reports crashes."
	ownLoops   = "it is io-loops that sets how many loops serve connections."
	ownTables  = "hash tables grow as in Go."
)

func unused(name string, kind Kind, value, reason string, aliases ...string) Directive {
	d := Directive{
		Name: name, Aliases: aliases, Kind: kind, Default: value, NoEffect: true,
		About: "No effect: " + reason,
	}
	if kind == KindInt || kind == KindMemory {
		d.Max = math.MaxInt64
	}
	return d
}

func within(d Directive, lo, hi int64) Directive {
	d.Min, d.Max = lo, hi
	return d
}

func enum(d Directive, values ...string) Directive {
	d.Values = values
	return d
}

func valid(check func(text string) error, d Directive) Directive {
	d.Valid = check
	return d
}

// immutable marks a directive that CONFIG SET refuses in Redis.
func immutable(d Directive) Directive {
	d.Immutable = true
	return d
}

// hidden marks a directive that CONFIG GET shows by its exact name only.
func hidden(d Directive) Directive {
	d.Hidden = true
	return d
}
