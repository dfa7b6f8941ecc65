package config

import "math"

// serverDirectives are about the process and the commands.
var serverDirectives = []Directive{
	{
		Name: "daemonize", Kind: KindBool, Default: "no", Immutable: true,
		Only: []string{"no"}, Refusal: "zlimit stays in the foreground: only 'no' is accepted, leave the background to a service manager",
		About: "Only no: zlimit stays in the foreground.",
	},
	{
		Name: "supervised", Kind: KindEnum, Default: "no", Immutable: true, Values: []string{"upstart", "systemd", "auto", "no"},
		Only: []string{"no"}, Refusal: "zlimit does not report to a supervisor: only 'no' is accepted",
		About: "Only no: zlimit does not tell a supervisor when it is ready.",
	},
	{
		Name: "dir", Kind: KindDir, Default: "./", Protected: true,
		About: "Directory of the snapshot and of the log, from which relative paths in other directives start too.",
	},
	{
		Name: "pidfile", Kind: KindPath, Immutable: true,
		About: "File to write the process id into, removed at exit; empty is none.",
	},
	{
		Name: "logfile", Kind: KindPath, Immutable: true,
		About: "File to append the log to; empty is the standard output.",
	},
	{
		Name: "metrics-addr", Kind: KindString, Immutable: true, Ours: true,
		About: "Address (host:port, or a port of this machine alone) at which Prometheus finds /metrics; empty is none.",
	},
	{
		Name: "loglevel", Kind: KindEnum, Default: "notice", Values: []string{"debug", "verbose", "notice", "warning"},
		About: "The least important messages of redis.log that are still logged.",
	},
	{
		Name: "latency-tracking", Kind: KindBool, Default: "yes",
		About: "Whether INFO latencystats shows how long commands take, by samples.",
	},
	{
		Name: "latency-tracking-info-percentiles", Kind: KindPercentiles, Default: "50 99 99.9",
		About: "Percentiles that INFO latencystats shows.",
	},
	{
		Name: "tracking-table-max-keys", Kind: KindInt, Default: "1000000", Max: math.MaxInt64,
		About: "How many keys that clients with CLIENT TRACKING have read are remembered; beyond it some are told of early, 0 is any number.",
	},
	{
		Name: "databases", Kind: KindInt, Default: "16", Min: 1, Max: math.MaxInt32, Immutable: true,
		Only: []string{"16"}, Refusal: "zlimit has 16 databases: only 16 is accepted",
		About: "Only 16: the number of databases is fixed.",
	},
	{
		Name: "hz", Kind: KindInt, Default: "10", Max: math.MaxInt32, Clamp: [2]int64{1, 500},
		About: "How many times a second idle clients are looked for and expired keys reclaimed.",
	},
	{
		Name: "huge-pages", Kind: KindBool, Default: "yes", Immutable: true, Ours: true,
		About: "Whether memory that is full moves to huge pages, where the system has them.",
	},
	{
		Name: "enable-debug-command", Kind: KindEnum, Default: "no", Values: []string{"no", "yes", "local"}, Immutable: true,
		About: "Who may use DEBUG, with which a test moves the clock: nobody, everybody, or clients on this machine.",
	},
	{
		Name: "enable-protected-configs", Kind: KindEnum, Default: "no", Values: []string{"no", "yes", "local"}, Immutable: true,
		About: "Who may change dir and dbfilename by CONFIG SET: nobody, everybody, or clients on this machine.",
	},
	{
		Name: "notify-keyspace-events", Kind: KindEvents,
		About: "Classes of changes that keyspace notifications tell of, a letter each; K and E say to which channels.",
	},
	{
		Name: "busy-reply-threshold", Aliases: []string{"lua-time-limit"}, Kind: KindInt, Default: "5000", Max: math.MaxInt64,
		About: "Milliseconds a script may run before other clients are answered BUSY; 0 is without end.",
	},
	{
		Name: "lua-memory-limit", Kind: KindMemory, Default: "268435456", Max: math.MaxInt64, Ours: true,
		About: "Bytes that one script may hold; more is the error \"not enough memory\", 0 is without end.",
	},
	{
		Name: "lua-error-reply-prefix", Kind: KindEnum, Default: "auto", Values: []string{"auto", "always", "never"}, Ours: true,
		About: "Whether the text of redis.error_reply gets ERR in front: always as in Redis 7, never as in Redis 6, or auto, which is always except where the text has no space and begins with an upper-case word (UNKNOWN_CLIENT, OVERWEIGHT:3:2): a letter, then letters, digits and underscores, up to the end or a punctuation mark.",
	},
	{
		Name: "lua-engine", Kind: KindEnum, Default: "auto", Values: []string{"auto", "interpreter"}, Ours: true,
		About: "Whether plain scripts run without the interpreter (auto), or all in it; they answer the same.",
	},
	{
		Name: "rl-log-max-units", Kind: KindInt, Default: "16777216", Min: 1, Max: math.MaxInt32, Ours: true,
		About: "The largest limit that RL.ALLOW keeps as a log of single units.",
	},
	{
		Name: "hash-max-listpack-entries", Aliases: []string{"hash-max-ziplist-entries"}, Kind: KindInt, Default: "512", Max: math.MaxInt64,
		About: "Fields up to which OBJECT ENCODING calls a hash a listpack, and HSCAN answers it whole.",
	},
	{
		Name: "hash-max-listpack-value", Aliases: []string{"hash-max-ziplist-value"}, Kind: KindMemory, Default: "64", Max: math.MaxInt64,
		About: "Bytes of its longest field or value up to which OBJECT ENCODING calls a hash a listpack.",
	},
	{
		Name: "set-max-intset-entries", Kind: KindInt, Default: "512", Max: math.MaxInt64,
		About: "Members up to which a set of integers is an intset, as OBJECT ENCODING calls it.",
	},
	{
		Name: "zset-max-listpack-entries", Aliases: []string{"zset-max-ziplist-entries"}, Kind: KindInt, Default: "128", Max: math.MaxInt64,
		About: "Members up to which OBJECT ENCODING calls a sorted set a listpack.",
	},
	{
		Name: "zset-max-listpack-value", Aliases: []string{"zset-max-ziplist-value"}, Kind: KindMemory, Default: "64", Max: math.MaxInt64,
		About: "Bytes of its longest member up to which OBJECT ENCODING calls a sorted set a listpack.",
	},
}
