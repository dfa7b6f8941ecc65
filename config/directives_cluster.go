package config

import "math"

// clusterDirectives are those of cluster mode. Many have no effect on a server that has all slots.
var clusterDirectives = []Directive{
	{
		Name: "cluster-enabled", Kind: KindBool, Default: "no", Immutable: true,
		About: "Whether the server is a cluster of one node, which has all slots: cluster clients find it, " +
			"and what a cluster refuses is refused.",
	},
	{
		Name: "cluster-config-file", Kind: KindString, Default: "nodes.conf", Immutable: true,
		About: "File in dir that keeps the node's id; empty: each start has a new one.",
	},
	{
		Name: "cluster-announce-ip", Kind: KindString, Default: "",
		About: "Address of the node in CLUSTER SLOTS and its like; empty: clients use the one that they " +
			"have connected to.",
	},
	within(Directive{
		Name: "cluster-announce-port", Kind: KindInt, Default: "0",
		About: "Port of the node there; 0: port.",
	}, 0, 65535),
	within(Directive{
		Name: "cluster-announce-tls-port", Kind: KindInt, Default: "0",
		About: "Port of the node for TLS there, if tls-cluster is yes; 0: tls-port.",
	}, 0, 65535),
	within(Directive{
		Name: "cluster-announce-bus-port", Kind: KindInt, Default: "0",
		About: "Port of the bus in CLUSTER NODES; 0: cluster-port.",
	}, 0, 65535),
	{
		Name: "cluster-announce-hostname", Kind: KindString, Default: "", Valid: validHostname,
		About: "Name of the node there, beside its address.",
	},
	within(immutable(Directive{
		Name: "cluster-port", Kind: KindInt, Default: "0",
		About: "Port of the bus in CLUSTER NODES, on which nothing listens; 0: 10000 above the node's port.",
	}), 0, 65535),
	enum(Directive{
		Name: "cluster-preferred-endpoint-type", Kind: KindEnum, Default: "ip",
		About: "What CLUSTER SLOTS names as the node's address: ip, hostname, or unknown-endpoint for the " +
			"address that the client has connected to.",
	}, "ip", "hostname", "unknown-endpoint"),
	{
		Name: "tls-cluster", Kind: KindBool, Default: "no",
		About: "Whether CLUSTER SLOTS names tls-port to clients that use TLS.",
	},
	unused("cluster-allow-pubsubshard-when-down", KindBool, "yes", oneNode),
	unused("cluster-allow-reads-when-down", KindBool, "no", oneNode),
	unused("cluster-allow-replica-migration", KindBool, "yes", oneNode),
	unused("cluster-link-sendbuf-limit", KindMemory, "0", oneNode),
	within(unused("cluster-migration-barrier", KindInt, "1", oneNode), 0, math.MaxInt32),
	unused("cluster-node-timeout", KindInt, "15000", oneNode),
	unused("cluster-replica-no-failover", KindBool, "no", oneNode, "cluster-slave-no-failover"),
	within(unused("cluster-replica-validity-factor", KindInt, "10", oneNode,
		"cluster-slave-validity-factor"), 0, math.MaxInt32),
	unused("cluster-require-full-coverage", KindBool, "yes", oneNode),
}

const oneNode = "a cluster has one node here, which has all slots."

func validHostname(text string) error {
	if len(text) >= 256 {
		return errLongHostname
	}
	for _, ch := range text {
		switch {
		case 'a' <= ch && ch <= 'z', 'A' <= ch && ch <= 'Z', '0' <= ch && ch <= '9', ch == '-', ch == '.':
		default:
			return errHostname
		}
	}
	return nil
}
