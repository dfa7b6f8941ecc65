package config

import "math"

// durableDirectives are those of persistence: the append-only file and snapshots.
// Both are off by default.
var durableDirectives = []Directive{
	{
		Name: "save", Kind: KindSave,
		About: "Save points, as pairs of seconds and changes: dump.rdb is written after that many seconds " +
			"if there were at least that many changes; none by default.",
	},
	{
		Name: "dbfilename", Kind: KindFileName, Default: "dump.rdb", Protected: true,
		About: "Name of the snapshot in dir.",
	},
	{
		Name: "rdbcompression", Kind: KindBool, Default: "yes",
		About: "Whether strings in a snapshot are compressed.",
	},
	{
		Name: "rdbchecksum", Kind: KindBool, Default: "yes", Immutable: true,
		About: "Whether a snapshot ends with a checksum, which is verified when it is loaded.",
	},
	{
		Name: "rdb-save-incremental-fsync", Kind: KindBool, Default: "yes",
		About: "Whether a snapshot is synced every 4 MB while it is written, not only at its end.",
	},
	{
		Name: "stop-writes-on-bgsave-error", Kind: KindBool, Default: "yes",
		About: "Whether write commands are refused with MISCONF if there are save points and the last " +
			"save has failed.",
	},
	{
		Name: "load-skip-unsupported", Kind: KindBool, Default: "no", Ours: true,
		About: "Whether loading skips keys of unsupported types and unknown commands; no refuses such files.",
	},
	{
		Name: "appendonly", Kind: KindBool, Default: "no", Loaded: true,
		About: "Whether every change is appended to a log, from which the next start restores the keys.",
	},
	{
		Name: "appenddirname", Kind: KindFileName, Default: "appendonlydir", Immutable: true,
		About: "Directory in dir for the files of the append-only log.",
	},
	{
		Name: "appendfilename", Kind: KindFileName, Default: "appendonly.aof", Immutable: true,
		About: "Prefix of the names of the append-only log's files.",
	},
	{
		Name: "appendfsync", Kind: KindEnum, Default: "everysec",
		Values: []string{"everysec", "always", "no"},
		About: "When the log is synced: always, before any reply that depends on it; everysec, once a " +
			"second; or no, when the system decides.",
	},
	{
		Name: "no-appendfsync-on-rewrite", Kind: KindBool, Default: "no",
		About: "Whether the log is not synced during a rewrite or a save.",
	},
	{
		Name: "auto-aof-rewrite-percentage", Kind: KindInt, Default: "100", Max: math.MaxInt32,
		About: "Growth of the log in percent after which it is rewritten automatically; 0 means never.",
	},
	{
		Name: "auto-aof-rewrite-min-size", Kind: KindMemory, Default: "67108864", Max: math.MaxInt64,
		About: "Size in bytes below which the log is not rewritten automatically.",
	},
	{
		Name: "aof-load-truncated", Kind: KindBool, Default: "yes",
		About: "Whether a log whose last command is truncated is shortened and loaded, with a warning; no " +
			"refuses it.",
	},
	{
		Name: "aof-use-rdb-preamble", Kind: KindBool, Default: "yes",
		About: "Whether a rewritten log begins with a snapshot, which is smaller and loads faster than " +
			"commands.",
	},
	{
		Name: "aof-rewrite-incremental-fsync", Kind: KindBool, Default: "yes",
		About: "Whether a rewritten log is synced every 4 MB while it is written, not only at its end.",
	},
	{
		Name: "key-load-delay", Kind: KindInt, Default: "0", Min: math.MinInt32, Max: math.MaxInt32,
		Hidden: true,
		About: "Microseconds to wait after each key while loading, or if negative, one microsecond after " +
			"that many keys; for tests.",
	},
	{
		Name: "rdb-key-save-delay", Kind: KindInt, Default: "0", Min: math.MinInt32, Max: math.MaxInt32,
		Hidden: true,
		About: "Microseconds to wait after each key while saving, or if negative, one microsecond after " +
			"that many keys; for tests.",
	},
	unused("aof-timestamp-enabled", KindBool, "no",
		"the log always has timestamps, in lines that Redis skips."),
	enum(unused("sanitize-dump-payload", KindEnum, "no",
		"every payload and every snapshot is fully checked."), "no", "yes", "clients"),
}
