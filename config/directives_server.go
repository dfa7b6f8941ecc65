package config

import "math"

// serverDirectives are those of the process and the commands.
var serverDirectives = []Directive{
	{
		Name: "daemonize", Kind: KindBool, Default: "no", Immutable: true,
		Only: []string{"no"},
		Refusal: "zlimit stays in the foreground: only 'no' is accepted, leave the background to a " +
			"service manager",
		About: "Only no: zlimit stays in the foreground.",
	},
	{
		Name: "supervised", Kind: KindEnum, Default: "no", Immutable: true,
		Values:  []string{"upstart", "systemd", "auto", "no"},
		Only:    []string{"no", "systemd", "auto"},
		Refusal: "zlimit does not report to upstart: only 'no', 'systemd' and 'auto' are accepted",
		About: "Only no, systemd or auto: whether systemd is told, by the socket NOTIFY_SOCKET, when the " +
			"server is loaded and when it shuts down; auto tells it if there is such a socket.",
	},
	{
		Name: "dir", Kind: KindDir, Default: "./", Protected: true, Loaded: true,
		About: "Directory of the snapshot and the log, and the base of relative paths in other directives.",
	},
	{
		Name: "pidfile", Kind: KindPath, Immutable: true,
		About: "File for the process id, removed at exit; empty means none.",
	},
	{
		Name: "ready-line", Kind: KindBool, Default: "no", Immutable: true, Ours: true,
		About: "Whether a line is written to standard output once the server answers commands: ready, and " +
			"port, pid and version as name=value, and http and grpc if rl-http-addr and rl-grpc-addr are " +
			"set; for the program that has started it.",
	},
	{
		Name: "exit-with-stdin", Kind: KindBool, Default: "no", Immutable: true, Ours: true,
		About: "Whether the server ends when its standard input does, so that it does not outlive the " +
			"program that holds the other end of the pipe.",
	},
	{
		Name: "logfile", Kind: KindPath, Immutable: true,
		About: "File to append the log to, opened for each line, so that it may be moved away; empty means " +
			"standard output.",
	},
	{
		Name: "metrics-addr", Kind: KindString, Immutable: true, Ours: true,
		About: "Address of /metrics for Prometheus and of a page for operators at /, host:port or a port " +
			"for this machine only; empty means none; unless it is a loopback address, scrapes must give, " +
			"by HTTP basic authentication, the password of requirepass, or the name and password of a user " +
			"who may call INFO; the page asks for a user wherever clients must.",
	},
	{
		Name: "loglevel", Kind: KindEnum, Default: "notice",
		Values: []string{"debug", "verbose", "notice", "warning"}, Later: []string{"nothing"},
		About: "Lowest level of the lines that are logged, those of redis.log among them; nothing logs " +
			"none.",
	},
	{
		Name: "log-format", Kind: KindEnum, Default: "auto", Values: []string{"auto", "text", "json"},
		Immutable: true, Ours: true,
		About: "Whether the log has lines as Redis' (text) or JSON objects (json); auto is text on a " +
			"terminal and JSON elsewhere.",
	},
	{
		Name: "latency-tracking", Kind: KindBool, Default: "yes",
		About: "Whether INFO latencystats shows execution times of commands, from samples.",
	},
	{
		Name: "latency-tracking-info-percentiles", Kind: KindPercentiles, Default: "50 99 99.9",
		About: "Percentiles that INFO latencystats shows.",
	},
	{
		Name: "latency-monitor-threshold", Kind: KindInt, Default: "0", Max: math.MaxInt64,
		About: "Milliseconds from which LATENCY samples what takes long; 0 means never.",
	},
	{
		Name: "slowlog-log-slower-than", Kind: KindInt, Default: "10000", Min: -1, Max: math.MaxInt64,
		About: "Microseconds from which a call is an entry of SLOWLOG; 0 means every call, -1 none.",
	},
	{
		Name: "slowlog-max-len", Kind: KindInt, Default: "128", Max: math.MaxInt64,
		About: "Number of entries that SLOWLOG keeps; each takes up to 6 kB.",
	},
	{
		Name: "tracking-table-max-keys", Kind: KindInt, Default: "1000000", Max: math.MaxInt64,
		About: "Maximum number of keys remembered for CLIENT TRACKING, beyond which some are invalidated " +
			"early; 0 means no limit.",
	},
	{
		Name: "databases", Kind: KindInt, Default: "16", Min: 1, Max: math.MaxInt32, Immutable: true,
		Only: []string{"16"}, Refusal: "zlimit has 16 databases: only 16 is accepted",
		About: "Only 16: the number of databases is fixed.",
	},
	{
		Name: "hz", Kind: KindInt, Default: "10", Max: math.MaxInt32, Clamp: [2]int64{1, 500},
		About: "How many times a second background work runs, such as reclaiming expired keys.",
	},
	{
		Name: "huge-pages", Kind: KindBool, Default: "yes", Immutable: true, Ours: true,
		About: "Whether full memory is moved to huge pages, if the system has them.",
	},
	{
		Name: "enable-debug-command", Kind: KindEnum, Default: "no", Values: []string{"no", "yes", "local"},
		Immutable: true,
		About:     "Who may use DEBUG, which is for tests: no client, all, or local ones.",
	},
	{
		Name: "enable-protected-configs", Kind: KindEnum, Default: "no",
		Values: []string{"no", "yes", "local"}, Immutable: true,
		About: "Who may change dir and dbfilename by CONFIG SET: no client, all, or local ones.",
	},
	{
		Name: "notify-keyspace-events", Kind: KindEvents,
		About: "Classes of keyspace notifications to publish, one letter each; K and E select the channels.",
	},
	{
		Name: "busy-reply-threshold", Aliases: []string{"lua-time-limit"}, Kind: KindInt, Default: "5000",
		Max:   math.MaxInt64,
		About: "Milliseconds that a script may run before other clients get BUSY; 0 means no limit.",
	},
	{
		Name: "lua-memory-limit", Kind: KindMemory, Default: "268435456", Max: math.MaxInt64, Ours: true,
		About: "Bytes that one script may use before it fails with \"not enough memory\", and that all " +
			"libraries of functions may hold; 0 means no limit.",
	},
	{
		Name: "lua-error-reply-prefix", Kind: KindEnum, Default: "auto",
		Values: []string{"auto", "always", "never"}, Ours: true,
		About: "Whether redis.error_reply prefixes its text with ERR: always as in Redis 7, never as in " +
			"Redis 6, or auto, which is always unless the text has no space and begins with an upper-case " +
			"word (UNKNOWN_CLIENT, OVERWEIGHT:3:2): a letter, then letters, digits and underscores, up to " +
			"the end or a punctuation mark.",
	},
	{
		Name: "rl-doctor", Kind: KindBool, Default: "no", Ours: true,
		About: "Whether RL.DOCTOR looks for mistakes of limiters that clients have written by hand.",
	},
	{
		Name: "rl-log-max-units", Kind: KindInt, Default: "16777216", Min: 1, Max: math.MaxInt32, Ours: true,
		About: "How many entries the log of a key may have, one for each call that RL commands admit; " +
			"calls that would add more are refused.",
	},
	{
		Name: "rl-max-keys-per-prefix", Kind: KindKeyLimits, Ours: true,
		About: "How many keys whose names begin with a prefix RL commands may create; a file may have " +
			"several lines.",
	},
	{
		Name: "rl-max-waiting", Kind: KindInt, Default: "1000", Min: 0, Max: 1_000_000, Ours: true,
		About: "How many calls with WAIT may wait for room in a key; the next one is refused.",
	},
	{
		Name: "rl-policies", Kind: KindPath, Immutable: true, Ours: true,
		About: "File of policies for RL.CHECK, in the form of Envoy's rate limit configuration, or a " +
			"directory of such files; RL.POLICY RELOAD and a hangup read them again.",
	},
	{
		Name: "rl-policy-unknown-domain", Kind: KindEnum, Default: "allow",
		Values: []string{"allow", "refuse"}, Immutable: true, Ours: true,
		About: "What RL.CHECK answers about a domain that no file of rl-policies has: that it has no " +
			"limit, or an error.",
	},
	{
		Name: "rl-stats-prefix", Kind: KindPrefixes, Ours: true,
		About: "Beginnings of keys by which RL.STATS and the metrics show decisions, up to 64.",
	},
	{
		Name: "rl-top", Kind: KindBool, Default: "yes", Ours: true,
		About: "Whether decisions are counted by key for RL.TOP DENIED and HOT.",
	},
	{
		Name: "rl-top-sampling", Kind: KindInt, Default: "32", Min: 1, Max: 1_000_000, Ours: true,
		About: "One in how many decisions RL.TOP counts, for that many, so that 1 counts every one; a " +
			"change starts the counts anew.",
	},
	{
		Name: "hash-max-listpack-entries", Aliases: []string{"hash-max-ziplist-entries"}, Kind: KindInt,
		Default: "512", Max: math.MaxInt64,
		About: "Maximum number of fields of a hash with OBJECT ENCODING listpack, which HSCAN returns whole.",
	},
	{
		Name: "hash-max-listpack-value", Aliases: []string{"hash-max-ziplist-value"}, Kind: KindMemory,
		Default: "64", Max: math.MaxInt64,
		About: "Maximum bytes of a field or value of a hash with OBJECT ENCODING listpack.",
	},
	{
		Name: "set-max-intset-entries", Kind: KindInt, Default: "512", Max: math.MaxInt64,
		About: "Maximum number of members of a set of integers with OBJECT ENCODING intset.",
	},
	{
		Name: "zset-max-listpack-entries", Aliases: []string{"zset-max-ziplist-entries"}, Kind: KindInt,
		Default: "128", Max: math.MaxInt64,
		About: "Maximum number of members of a sorted set with OBJECT ENCODING listpack.",
	},
	{
		Name: "zset-max-listpack-value", Aliases: []string{"zset-max-ziplist-value"}, Kind: KindMemory,
		Default: "64", Max: math.MaxInt64,
		About: "Maximum bytes of a member of a sorted set with OBJECT ENCODING listpack.",
	},
}
