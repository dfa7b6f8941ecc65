package config

import "math"

// replicationDirectives are about masters and replicas.
var replicationDirectives = []Directive{
	{
		Name: "replicaof", Aliases: []string{"slaveof"}, Kind: KindMaster, Immutable: true,
		About: "Host and port of the master whose replica the server is; empty: it is a master.",
	},
	{
		Name: "masteruser", Kind: KindString, Sensitive: true,
		About: "The user as whom a replica logs in to its master, with masterauth; empty: the default user.",
	},
	{
		Name: "masterauth", Kind: KindString, Sensitive: true,
		About: "The password that a replica gives its master; empty: none.",
	},
	{
		Name: "replica-read-only", Aliases: []string{"slave-read-only"}, Kind: KindBool, Default: "yes",
		About: "Whether a replica refuses writes with READONLY; what is written to one that does not stays " +
			"there, and decisions about a key are then made in two places.",
	},
	{
		Name: "replica-serve-stale-data", Aliases: []string{"slave-serve-stale-data"}, Kind: KindBool,
		Default: "yes",
		About:   "Whether a replica answers while it has no link to its master, instead of MASTERDOWN.",
	},
	{
		Name: "replica-priority", Aliases: []string{"slave-priority"}, Kind: KindInt, Default: "100",
		Max:   math.MaxInt32,
		About: "For Sentinel: replicas with a lower number are promoted first, and never those with 0.",
	},
	{
		Name: "replica-announced", Kind: KindBool, Default: "yes",
		About: "For Sentinel: whether it tells clients of this replica.",
	},
	{
		Name: "replica-announce-ip", Aliases: []string{"slave-announce-ip"}, Kind: KindString,
		About: "The address that a replica gives its master as its own; empty: that of the connection.",
	},
	{
		Name: "replica-announce-port", Aliases: []string{"slave-announce-port"}, Kind: KindInt, Default: "0",
		Max:   65535,
		About: "The port that a replica gives its master as its own; 0: the one that it listens on.",
	},
	{
		Name: "repl-timeout", Kind: KindInt, Default: "60", Min: 1, Max: math.MaxInt32,
		About: "After how many seconds of silence a replica gives up its master, or a master its replica.",
	},
	{
		Name: "repl-ping-replica-period", Aliases: []string{"repl-ping-slave-period"}, Kind: KindInt,
		Default: "10", Min: 1, Max: math.MaxInt32,
		About: "How often, in seconds, a master lets its replicas hear from it.",
	},
	{
		Name: "repl-backlog-size", Kind: KindMemory, Default: "1048576", Min: 1, Max: math.MaxInt64,
		About: "How many bytes of its changes a master keeps, so that a replica whose link was cut can go " +
			"on from there.",
	},
	{
		Name: "repl-backlog-ttl", Kind: KindInt, Default: "3600", Max: math.MaxInt64,
		About: "After how many seconds without a replica a master stops keeping its changes; 0: never.",
	},
	{
		Name: "repl-diskless-sync", Kind: KindBool, Default: "yes",
		About: "Whether a master waits for repl-diskless-sync-delay before it copies its keys; it never " +
			"writes a file for that.",
	},
	{
		Name: "repl-diskless-sync-delay", Kind: KindInt, Default: "5", Max: math.MaxInt32,
		About: "For how many seconds a master waits for more replicas before it copies its keys to all of " +
			"them.",
	},
	{
		Name: "repl-diskless-sync-max-replicas", Kind: KindInt, Default: "0", Max: math.MaxInt32,
		About: "How many replicas end that wait; 0: none do.",
	},
	{
		Name: "min-replicas-to-write", Aliases: []string{"min-slaves-to-write"}, Kind: KindInt, Default: "0",
		Max: math.MaxInt32,
		About: "A master refuses writes with NOREPLICAS unless so many replicas were heard within " +
			"min-replicas-max-lag.",
	},
	{
		Name: "min-replicas-max-lag", Aliases: []string{"min-slaves-max-lag"}, Kind: KindInt, Default: "10",
		Max: math.MaxInt32,
		About: "After how many seconds of silence a replica does not count for min-replicas-to-write; 0 " +
			"turns that off.",
	},
	{
		Name: "shutdown-timeout", Kind: KindInt, Default: "10", Max: math.MaxInt32,
		About: "For how many seconds SHUTDOWN and SIGTERM wait, while writes are postponed, until replicas " +
			"have everything; 0: they do not wait.",
	},
	enum(unused("propagation-error-behavior", KindEnum, "ignore",
		"a replica stops at a command that it cannot carry out."), "ignore", "panic", "panic-on-replicas"),
	unused("rdb-del-sync-files", KindBool, "no", "no files are left by a copy."),
	unused("repl-disable-tcp-nodelay", KindBool, "no", "what is sent is collected already."),
	enum(unused("repl-diskless-load", KindEnum, "disabled",
		"a replica always has the whole copy before it gives up what it has."), "disabled", "on-empty-db",
		"swapdb"),
	unused("replica-ignore-disk-write-errors", KindBool, "no", "a replica goes on."),
	unused("replica-ignore-maxmemory", KindBool, "yes", "a replica leaves eviction to its master.",
		"slave-ignore-maxmemory"),
	unused("replica-lazy-flush", KindBool, "no", goMemory, "slave-lazy-flush"),
}
