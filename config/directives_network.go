package config

import "math"

// networkDirectives are those of listeners and connections.
var networkDirectives = []Directive{
	{
		Name: "bind", Kind: KindList, Default: "127.0.0.1 -::1", Max: 16,
		About: "Addresses to listen on; * and -::* mean all IPv4 and all IPv6 addresses, and a leading - " +
			"makes an address optional.",
	},
	{
		Name: "port", Kind: KindInt, Default: "6379", Max: 65535,
		About: "TCP port to listen on; 0 chooses a free port at start if port-file is set, or ready-line " +
			"without unixsocket, and otherwise disables TCP.",
	},
	{
		Name: "port-file", Kind: KindPath, Immutable: true, Ours: true,
		About: "File for the number of the open TCP port, so that a test can start zlimit with port 0 and " +
			"find it.",
	},
	{
		Name: "unixsocket", Kind: KindPath, Immutable: true,
		About: "Path of a unix socket to listen on; empty means none.",
	},
	{
		Name: "unixsocketperm", Kind: KindOctal, Default: "0", Max: 0o777, Immutable: true,
		About: "Permissions of the unix socket in octal; 0 uses the umask.",
	},
	{
		Name: "tcp-backlog", Kind: KindInt, Default: "511", Max: math.MaxInt32, Immutable: true,
		NoEffect: true,
		About:    "No effect: the operating system limits the queue of connections not yet accepted.",
	},
	{
		Name: "timeout", Kind: KindInt, Default: "0", Max: math.MaxInt32,
		About: "Seconds after which an idle client is disconnected; 0 means never.",
	},
	{
		Name: "io-loops", Kind: KindInt, Default: "0", Max: 256, Immutable: true, Ours: true,
		About: "How many loops serve connections, each on a processor while it is busy; " +
			"0 means as many as processors.",
	},
	{
		Name: "tcp-keepalive", Kind: KindInt, Default: "300", Max: math.MaxInt32,
		About: "Seconds between TCP keepalive probes to a silent client; 0 disables them.",
	},
	{
		Name: "maxclients", Kind: KindInt, Default: "10000", Min: 1, Max: math.MaxUint32,
		About: "Maximum number of connected clients; further ones get an error and are disconnected.",
	},
	{
		Name: "protected-mode", Kind: KindBool, Default: "yes",
		About: "Whether clients of other machines are refused if no password is set.",
	},
	{
		Name: "requirepass", Kind: KindString, Sensitive: true,
		About: "Password of the ACL's default user, which AUTH or HELLO must give before other commands; " +
			"empty requires none.",
	},
	{
		Name: "rl-grpc-addr", Kind: KindString, Immutable: true, Ours: true,
		About: "Address, as host:port, at which Envoy's rate limit service is answered by the policies of " +
			"rl-policies, over gRPC; empty: none.",
	},
	{
		Name: "rl-http-addr", Kind: KindString, Immutable: true, Ours: true,
		About: "Address, as host:port, at which decisions are made over HTTP: " +
			"POST /v1/check, and GET /v1/auth for proxies; empty: none.",
	},
	{
		Name: "rl-door-user", Kind: KindString, Immutable: true, Ours: true,
		About: "User of the ACL whose rights the requests of rl-grpc-addr and rl-http-addr without " +
			"credentials have; empty: the user that has the name of the client's certificate, or the " +
			"default user, if that needs no password.",
	},
	{
		Name: "rl-door-tls", Kind: KindBool, Default: "no", Immutable: true, Ours: true,
		About: "Whether rl-grpc-addr and rl-http-addr are over TLS, with the certificates and client " +
			"certificates of tls-port.",
	},
	{
		Name: "rl-door-headers", Kind: KindBool, Default: "no", Immutable: true, Ours: true,
		About: "Whether responses of rl-grpc-addr have x-ratelimit-limit, -remaining and -reset to add to " +
			"the proxy's response.",
	},
	{
		Name: "rl-door-metadata", Kind: KindBool, Default: "no", Immutable: true, Ours: true,
		About: "Whether responses of rl-grpc-addr have dynamic metadata about the request and its quotas.",
	},
	{
		Name: "aclfile", Kind: KindPath, Immutable: true,
		About: "File with a line for each user of the ACL, which ACL LOAD and ACL SAVE read and write; " +
			"with it the configuration may have no user lines.",
	},
	{
		Name: "acl-pubsub-default", Kind: KindEnum, Default: "resetchannels",
		Values: []string{"allchannels", "resetchannels"},
		About:  "Whether new users of the ACL may use all channels or none.",
	},
	{
		Name: "acllog-max-len", Kind: KindInt, Default: "128", Max: math.MaxInt64,
		About: "Entries that ACL LOG keeps.",
	},
	{
		Name: "failed-logins-per-second", Kind: KindInt, Default: "3", Max: 1000, Ours: true,
		About: "How many logins of one address may fail in a second once ten have failed: further ones " +
			"wait, or are refused; 0 means no limit.",
	},
	{
		Name: "proto-max-bulk-len", Kind: KindMemory, Default: "536870912", Min: 1 << 20, Max: math.MaxInt64,
		About: "Longest single argument and longest string value, in bytes.",
	},
	{
		Name: "client-query-buffer-limit", Kind: KindMemory, Default: "1073741824", Min: 1 << 20,
		Max:   math.MaxInt64,
		About: "Bytes of commands that one client may have pending; beyond that it is disconnected.",
	},
	{
		Name: "maxmemory-clients", Kind: KindMemory, Default: "0", Max: math.MaxInt64, Percent: true,
		About: "Bytes that all clients may take together, or a percentage of maxmemory, beyond which the " +
			"largest are disconnected; 0 means no limit, and less than 128 KB means 128 KB.",
	},
	{
		Name: "client-output-buffer-limit", Kind: KindOutputBuffer,
		Default: "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
		About: "For each class of clients (normal, replica, pubsub): bytes of unread replies at which a " +
			"client is disconnected at once, and bytes and seconds after which it is disconnected; 0 " +
			"means no limit.",
	},
}
