package config

import "math"

// durableDirectives are about what outlives the process: the append-only file
// and the snapshots. Both are off by default.
var durableDirectives = []Directive{
	{
		Name: "save", Kind: KindSave,
		About: "Save points, seconds and changes in pairs: dump.rdb is written after so many seconds once there were so many changes; none by default.",
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
		About: "Whether a snapshot ends with a checksum, and one that is read is held against its own.",
	},
	{
		Name: "rdb-save-incremental-fsync", Kind: KindBool, Default: "yes",
		About: "Whether a snapshot is synced every 4 MB while it is written, not at its end alone.",
	},
	{
		Name: "stop-writes-on-bgsave-error", Kind: KindBool, Default: "yes",
		About: "Whether commands that write are refused with MISCONF while there are save points and the last save has failed.",
	},
	{
		Name: "load-skip-unsupported", Kind: KindBool, Default: "no", Ours: true,
		About: "Whether keys of types that zlimit does not hold, and commands that it does not know, are left out when files are loaded; no refuses such a file.",
	},
	{
		Name: "appendonly", Kind: KindBool, Default: "no",
		About: "Whether every change is appended to a log, from which the next start restores the keys.",
	},
	{
		Name: "appenddirname", Kind: KindFileName, Default: "appendonlydir", Immutable: true,
		About: "Directory in dir that holds the files of the append-only log.",
	},
	{
		Name: "appendfilename", Kind: KindFileName, Default: "appendonly.aof", Immutable: true,
		About: "What the names of the append-only log's files begin with.",
	},
	{
		Name: "appendfsync", Kind: KindEnum, Default: "everysec", Values: []string{"everysec", "always", "no"},
		About: "When the log is synced: always, before anything is answered that depends on it; once a second; or when the system likes.",
	},
	{
		Name: "no-appendfsync-on-rewrite", Kind: KindBool, Default: "no",
		About: "Whether the log is not synced while a rewrite or a save goes on.",
	},
	{
		Name: "auto-aof-rewrite-percentage", Kind: KindInt, Default: "100", Max: math.MaxInt32,
		About: "By how many percent the log grows after a rewrite until the next one begins by itself; 0 is never.",
	},
	{
		Name: "auto-aof-rewrite-min-size", Kind: KindMemory, Default: "67108864", Max: math.MaxInt64,
		About: "Bytes below which the log is not rewritten by itself.",
	},
	{
		Name: "aof-load-truncated", Kind: KindBool, Default: "yes",
		About: "Whether a log whose last command is cut off is shortened and loaded, with a warning; no refuses it.",
	},
	{
		Name: "aof-use-rdb-preamble", Kind: KindBool, Default: "yes",
		About: "Whether a rewritten log begins with a snapshot, which is shorter and loads faster, rather than with commands.",
	},
	{
		Name: "aof-rewrite-incremental-fsync", Kind: KindBool, Default: "yes",
		About: "Whether a rewrite is synced every 4 MB while it is written, not at its end alone.",
	},
	{
		Name: "key-load-delay", Kind: KindInt, Default: "0", Min: math.MinInt32, Max: math.MaxInt32, Hidden: true,
		About: "Microseconds that loading waits after each key, or where negative one microsecond after so many keys, so that a test can watch it.",
	},
	{
		Name: "rdb-key-save-delay", Kind: KindInt, Default: "0", Min: math.MinInt32, Max: math.MaxInt32, Hidden: true,
		About: "Microseconds that a save waits after each key, or where negative one microsecond after so many keys, so that a test can watch it.",
	},
	unused("aof-timestamp-enabled", KindBool, "no", "the log always has instants in it, in lines that Redis skips."),
	enum(unused("sanitize-dump-payload", KindEnum, "no", "every payload and every snapshot is checked in full."), "no", "yes", "clients"),
}
