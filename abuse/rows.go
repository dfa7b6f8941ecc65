package abuse

// Rows are the abuses that the tests and bench/abuse run.
var Rows = []Row{
	{
		Name: "idle", About: "10,000 connections that send nothing",
		Directives: []string{"--maxclients", "12000"},
		Attack:     idle,
	},
	{
		Name: "slow", About: "half of a command, then a byte at a time",
		Attack: slow,
	},
	{
		Name: "handshakes", About: "TLS handshakes that never end, and such that are given up",
		TLS:    true,
		Attack: handshakes,
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
	},
	{
		Name: "monitor", About: "MONITOR, never read",
		Directives: []string{"--client-output-buffer-limit", "normal 1mb 0 0"},
		Attack:     stalledMonitors,
	},
	{
		Name: "subscribers", About: "subscribers that never read what is published to them",
		Directives: []string{"--client-output-buffer-limit", "pubsub 1mb 0 0"},
		Attack:     stalledSubscribers,
	},
	{
		Name: "multi", About: "transactions that are queued and never run",
		Directives: []string{"--maxmemory-clients", "16mb"},
		Attack:     endlessMulti, Limit: "evicted_clients",
	},
	{
		Name: "loops", About: "scripts that compute for tens of milliseconds, one after the other",
		Attack: loops,
	},
	{
		Name: "tables", About: "scripts that build endless tables",
		Directives: []string{"--lua-memory-limit", "67108864"}, OnlyOurs: true,
		Attack: tables,
	},
	{
		Name: "keys", About: "KEYS over a million keys",
		Setup: fill, Attack: keys,
	},
	{
		Name: "scan", About: "SCAN over a million keys, in steps of 10,000",
		Setup: fill, Attack: scan,
	},
	{
		Name: "flood", About: "new keys in pipelines of 100",
		Attack: flood,
	},
	{
		Name: "hot", About: "32 clients on one key",
		Attack: hot,
	},
}
