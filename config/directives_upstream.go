package config

import "math"

// upstreamDirectives are those of a server that forwards calls to other servers. Package upstream
// says what their values mean.
var upstreamDirectives = []Directive{
	{
		Name: "upstream", Kind: KindString, Immutable: true, Sensitive: true, Ours: true,
		About: "The servers that have the keys instead of this one: " +
			"redis://host:port,host:port of a cluster or of one server, " +
			"redis+sentinel://host:port/name of a master, with rediss for TLS; empty: none.",
	},
	{
		Name: "upstream-user", Kind: KindString, Immutable: true, Ours: true,
		About: "The user as whom the server logs in to its upstream, unless its URL has one; " +
			"empty: the default user.",
	},
	{
		Name: "upstream-password", Kind: KindString, Immutable: true, Sensitive: true, Ours: true,
		About: "The password for that; empty: none.",
	},
	{
		Name: "upstream-sentinel-user", Kind: KindString, Immutable: true, Ours: true,
		About: "The user as whom the server logs in to the sentinels of its upstream, which know " +
			"other users than their master; empty: the default user.",
	},
	{
		Name: "upstream-sentinel-password", Kind: KindString, Immutable: true, Sensitive: true, Ours: true,
		About: "The password of the sentinels; empty: none.",
	},
	{
		Name: "upstream-tls-ca-cert-file", Kind: KindPath, Immutable: true, Ours: true,
		About: "Certificates in PEM of the authorities whose certificates of the upstream are " +
			"accepted; empty: those of the system.",
	},
	{
		Name: "upstream-tls-cert-file", Kind: KindPath, Immutable: true, Ours: true,
		About: "Certificate in PEM that is shown to the upstream; empty: none.",
	},
	{
		Name: "upstream-tls-key-file", Kind: KindPath, Immutable: true, Ours: true,
		About: "Private key of that certificate in PEM.",
	},
	{
		Name: "upstream-timeout", Kind: KindInt, Default: "1000", Min: 10, Max: 600_000,
		Immutable: true, Ours: true,
		About: "How long a node of the upstream may be silent before and within an answer, in milliseconds.",
	},
	{
		Name: "upstream-queue", Kind: KindInt, Default: "16384", Min: 1, Max: math.MaxInt32, Immutable: true,
		Ours: true,
		About: "How many commands may wait for one node of the upstream; more are refused at " +
			"once.",
	},
	{
		Name: "upstream-max-units", Kind: KindInt, Default: "100000", Min: 1, Max: 1_000_000, Immutable: true,
		Ours: true,
		About: "How many members RL.ADOPT may make of a key of the upstream, which takes it some 3.5 " +
			"microseconds each, in which it answers nobody; larger keys are refused.",
	},
	{
		Name: "upstream-wait", Kind: KindList, Immutable: true, Ours: true,
		About: "How many replicas must confirm what a call has written before it is answered, " +
			"and for how many milliseconds that is waited for, else the answer is NOREPLICAS; " +
			"empty: none.",
	},
	{
		Name: "upstream-split", Kind: KindBool, Default: "no", Immutable: true, Ours: true,
		About: "Whether MGET, MSET, DEL, UNLINK, EXISTS and TOUCH of keys in several slots are " +
			"split, so that they are no longer atomic, instead of being refused with " +
			"CROSSSLOT.",
	},
	{
		Name: "upstream-failure", Kind: KindList, Default: "closed", Immutable: true, Ours: true,
		About: "How decisions are answered while the upstream does not: closed (with an " +
			"error), open (as if nothing were used), local n (by a share of each limit, of n " +
			"servers), and pairs of a prefix and the same for the keys with that prefix.",
	},
	{
		Name: "upstream-announce", Kind: KindList, Immutable: true, Ours: true,
		About: "Addresses, host:port, of the servers that CLUSTER SLOTS names to clients; " +
			"empty: the address at which the client has reached this one.",
	},
}
