package config

import "math"

// unusedDirectives are what is left of the redis.conf that comes with Redis:
// nothing in zlimit depends on them, so a file may set them as it likes.
var unusedDirectives = []Directive{
	unused("acllog-max-len", KindInt, "128", noACL),
	unused("activerehashing", KindBool, "yes", ownTables),
	fixed(unused("always-show-logo", KindBool, "no", "there is no logo.")),
	fixed(unused("disable-thp", KindBool, "yes", goMemory)),
	unused("dynamic-hz", KindBool, "yes", "hz stays as it is set."),
	unused("hll-sparse-max-bytes", KindMemory, "3000", noSuchType),
	within(fixed(unused("io-threads", KindInt, "1", "every connection is read on its own.")), 1, 128),
	unused("jemalloc-bg-thread", KindBool, "yes", goMemory),
	unused("latency-monitor-threshold", KindInt, "0", "there is no LATENCY command."),
	unused("lazyfree-lazy-eviction", KindBool, "no", goMemory),
	unused("lazyfree-lazy-expire", KindBool, "no", goMemory),
	unused("lazyfree-lazy-server-del", KindBool, "no", goMemory),
	unused("lazyfree-lazy-user-del", KindBool, "no", goMemory),
	unused("lazyfree-lazy-user-flush", KindBool, "no", goMemory),
	within(unused("list-compress-depth", KindInt, "0", noSuchType), 0, math.MaxInt32),
	within(unused("list-max-listpack-size", KindInt, "-2", noSuchType, "list-max-ziplist-size"), math.MinInt32, math.MaxInt32),
	unused("proc-title-template", KindString, "{title} {listen-addr} {server-mode}", noTitle),
	unused("rdb-del-sync-files", KindBool, "no", noReplication),
	unused("repl-disable-tcp-nodelay", KindBool, "no", noReplication),
	enum(unused("repl-diskless-load", KindEnum, "disabled", noReplication), "disabled", "on-empty-db", "swapdb"),
	unused("repl-diskless-sync", KindBool, "yes", noReplication),
	within(unused("repl-diskless-sync-delay", KindInt, "5", noReplication), 0, math.MaxInt32),
	within(unused("repl-diskless-sync-max-replicas", KindInt, "0", noReplication), 0, math.MaxInt32),
	unused("replica-lazy-flush", KindBool, "no", noReplication, "slave-lazy-flush"),
	within(unused("replica-priority", KindInt, "100", noReplication, "slave-priority"), 0, math.MaxInt32),
	unused("replica-read-only", KindBool, "yes", noReplication, "slave-read-only"),
	unused("replica-serve-stale-data", KindBool, "yes", noReplication, "slave-serve-stale-data"),
	fixed(unused("set-proc-title", KindBool, "yes", noTitle)),
	within(unused("slowlog-log-slower-than", KindInt, "10000", noSlowlog), -1, math.MaxInt64),
	unused("slowlog-max-len", KindInt, "128", noSlowlog),
	unused("stream-node-max-bytes", KindMemory, "4096", noSuchType),
	unused("stream-node-max-entries", KindInt, "100", noSuchType),
}

// Why a directive has no effect.
const (
	goMemory      = "memory is Go's."
	noACL         = "there are no ACLs."
	noReplication = "there is no replication."
	noSlowlog     = "there is no SLOWLOG command."
	noSuchType    = "there are no keys of that type, or they have one encoding."
	noTitle       = "the process keeps its title."
	ownTables     = "tables grow in Go's way."
)

func unused(name string, kind Kind, value, why string, aliases ...string) Directive {
	d := Directive{Name: name, Aliases: aliases, Kind: kind, Default: value, NoEffect: true, About: "No effect: " + why}
	if kind == KindInt || kind == KindMemory {
		d.Max = math.MaxInt64
	}
	return d
}

func within(d Directive, lowest, highest int64) Directive {
	d.Min, d.Max = lowest, highest
	return d
}

func enum(d Directive, values ...string) Directive {
	d.Values = values
	return d
}

// fixed is for what CONFIG SET refuses in Redis.
func fixed(d Directive) Directive {
	d.Immutable = true
	return d
}
