package config

import "math"

// networkDirectives are about connections: where they come in, and what one of
// them may use.
var networkDirectives = []Directive{
	{
		Name: "bind", Kind: KindList, Default: "127.0.0.1 -::1", Max: 16,
		About: "Addresses to listen on, * and -::* being all of IPv4 and IPv6; one that starts with - may be missing on this machine.",
	},
	{
		Name: "port", Kind: KindInt, Default: "6379", Max: 65535,
		About: "TCP port to listen on; at the start 0 takes a free one where port-file is set, otherwise 0 is no TCP at all.",
	},
	{
		Name: "port-file", Kind: KindPath, Immutable: true, Ours: true,
		About: "File to write the TCP port into once it is open, so that a test can start zlimit with port 0 and find it.",
	},
	{
		Name: "unixsocket", Kind: KindPath, Immutable: true,
		About: "Path of a unix socket to listen on as well; empty is none.",
	},
	{
		Name: "unixsocketperm", Kind: KindOctal, Default: "0", Max: 0o777, Immutable: true,
		About: "Permissions of the unix socket in octal; 0 leaves them to the umask.",
	},
	{
		Name: "tcp-backlog", Kind: KindInt, Default: "511", Max: math.MaxInt32, Immutable: true, NoEffect: true,
		About: "No effect: the operating system's own limit is the length of the queue of connections not yet accepted.",
	},
	{
		Name: "timeout", Kind: KindInt, Default: "0", Max: math.MaxInt32,
		About: "Seconds after which an idle client is disconnected; 0 is never.",
	},
	{
		Name: "tcp-keepalive", Kind: KindInt, Default: "300", Max: math.MaxInt32,
		About: "Seconds between TCP keepalive probes to a silent client; 0 sends none.",
	},
	{
		Name: "maxclients", Kind: KindInt, Default: "10000", Min: 1, Max: math.MaxUint32,
		About: "Connections at the same time; whoever comes beyond is told so and disconnected.",
	},
	{
		Name: "protected-mode", Kind: KindBool, Default: "yes",
		About: "Without a password, refuses clients that do not come from this machine.",
	},
	{
		Name: "requirepass", Kind: KindString, Sensitive: true,
		About: "Password that AUTH and HELLO must give before anything else; empty asks for none.",
	},
	{
		Name: "proto-max-bulk-len", Kind: KindMemory, Default: "536870912", Min: 1 << 20, Max: math.MaxInt64,
		About: "Longest single argument and longest string value, in bytes.",
	},
	{
		Name: "client-query-buffer-limit", Kind: KindMemory, Default: "1073741824", Min: 1 << 20, Max: math.MaxInt64,
		About: "Bytes of commands not yet carried out that one client may have pending; beyond, it is disconnected.",
	},
	{
		Name: "client-output-buffer-limit", Kind: KindOutputBuffer,
		Default: "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
		About:   "For each class of clients (normal, replica, pubsub): bytes of replies not yet taken at which one is disconnected at once, and bytes and seconds it may stay above; 0 is no limit.",
	},
}
