package abuse

// Rows are the abuses that the tests and lab/abuse/measure run.
var Rows = []Row{
	{
		Name: "idle", About: "10,000 connections that send nothing",
		Directives: []string{"--maxclients", "12000"},
		Attack:     idle,
		Reason:     "accepting 10,000 connections within a second is most of a processor's work",
	},
	{
		Name: "slow", About: "half of a command, then a byte at a time",
		Attack: slow,
		Reason: "every byte is a wake-up, and there are thousands a second",
	},
	{
		Name: "handshakes", About: "TLS handshakes that never end, and such that are given up",
		TLS:    true,
		Attack: handshakes,
		Reason: "the keys of a handshake are computed on the processor that serves",
	},
	{
		Name: "connects", About: "clients that connect, 1,000 a second, ask once and hang up",
		Attack: connects,
	},
	{
		Name: "maxclients", About: "more connections than maxclients",
		Directives: []string{"--maxclients", "64"},
		Attack:     tooMany, Limit: "rejected_connections",
	},
	{
		Name: "stranger", About: "giant counts, lengths and pipelines before AUTH",
		Password: "secret",
		Attack:   strangers,
	},
	{
		Name: "giants", About: "counts and lengths of gigabytes, announced and not sent",
		Attack: giants,
	},
	{
		Name: "garbage", About: "bytes that are no commands",
		Attack: garbage,
	},
	{
		Name: "unread", About: "pipelines whose replies are never read",
		Directives: []string{"--client-output-buffer-limit", "normal 8mb 0 0"},
		Setup:      storeValue, Attack: unread,
		Reason: "64 KB of replies are copied before others have their turn",
	},
	{
		Name: "monitor", About: "MONITOR, never read",
		Directives: []string{"--client-output-buffer-limit", "normal 1mb 0 0"},
		Attack:     stalledMonitors,
		Reason:     "each command is copied for every monitor before it is answered",
	},
	{
		Name: "subscribers", About: "subscribers that never read what is published to them",
		Directives: []string{"--client-output-buffer-limit", "pubsub 1mb 0 0"},
		Attack:     stalledSubscribers,
		Reason:     "each message is copied for every subscriber before its sender is answered",
	},
	{
		Name: "multi", About: "transactions that are queued and never run",
		Directives: []string{"--maxmemory-clients", "16mb"},
		Attack:     endlessMulti, Limit: "evicted_clients",
		Reason: "a processor that takes in 10 KB commands without a pause has little left",
	},
	{
		Name: "names", About: "watches, subscriptions and tracking prefixes without end",
		Directives: []string{"--maxmemory-clients", "1mb"},
		Attack:     endlessNames, Limit: "evicted_clients",
		Reason: "commands of 1,000 names, one after the other",
	},
	{
		Name: "loops", About: "scripts that compute for tens of milliseconds, one after the other",
		Attack: loops,
		Reason: "a script that is not proven to stay on its keys excludes others while it runs",
	},
	{
		Name: "tables", About: "scripts that build endless tables",
		Directives: []string{"--lua-memory-limit", "67108864"}, OnlyOurs: true,
		Attack: tables,
		Reason: "the collector's work for tables that grow to the limit",
	},
	{
		Name: "keys", About: "KEYS over a million keys",
		Setup: fill, Attack: keys,
		Reason: "a processor that walks and sends without a pause has little left",
	},
	{
		Name: "scan", About: "SCAN over a million keys, in steps of 10,000",
		Setup: fill, Attack: scan,
		Reason: "a processor that walks and sends without a pause has little left",
	},
	{
		Name: "flood", About: "new keys in pipelines of 100",
		Attack: flood,
		Reason: "the collector's work, and that of removing expired keys, on one processor",
	},
	{
		Name: "hot", About: "32 clients on one key",
		Attack: hot,
		Reason: "32 clients ahead in the queue",
	},
	{
		Name: "door-floods", About: "calls over gRPC that are reset at once, settings and pings without end",
		Doors: true, Attack: doorFloods,
		Reason: "a processor that reads frames without a pause has little left",
	},
	{
		Name: "door-slow", About: "bodies over gRPC and HTTP that arrive a byte at a time",
		Doors: true, Attack: doorSlow,
	},
	{
		Name: "door-calls", About: "decisions over gRPC, 100 at a time on 16 connections",
		Doors: true, Attack: doorCalls,
		Reason: "1,600 decisions ahead in the queue",
	},
}
