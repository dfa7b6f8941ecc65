package cluster

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A View is a cluster as one of its nodes describes it to a client.
type View struct {
	Nodes   []Node
	Self    int  // index in Nodes of the node that answers
	TLS     bool // the client has connected with TLS
	Covered int  // slots that are served
	Failed  bool
}

// A Node is a master, with its slots.
type Node struct {
	ID       string // 40 hexadecimal digits
	IP       string // empty: a client knows it
	Hostname string
	Endpoint Endpoint
	Port     int64 // 0: none
	TLSPort  int64 // 0: none
	BusPort  int64
	Offset   int64 // of replication
	Epoch    int64

	First, Last int64 // slots
}

// An Endpoint is what clients are told to connect to.
type Endpoint string

// The values of cluster-preferred-endpoint-type.
const (
	EndpointIP       Endpoint = "ip"
	EndpointHostname Endpoint = "hostname"
	EndpointUnknown  Endpoint = "unknown-endpoint" // what the client has connected to
)

// clientPort returns the port for the client.
func (v *View) clientPort(n *Node) int64 {
	if n.TLSPort != 0 && (v.TLS || n.Port == 0) {
		return n.TLSPort
	}
	return n.Port
}

// endpoint returns what clients are told to connect to; unknown stands for EndpointUnknown.
func (n *Node) endpoint(unknown resp.Value) resp.Value {
	switch {
	case n.Endpoint == EndpointUnknown:
		return unknown
	case n.Endpoint != EndpointHostname:
		return resp.Bulk(n.IP)
	case n.Hostname == "":
		return resp.Bulk("?")
	}
	return resp.Bulk(n.Hostname)
}

// Slots returns the reply to CLUSTER SLOTS.
func (v *View) Slots() resp.Value {
	var out []resp.Value
	for i := range v.Nodes {
		n := &v.Nodes[i]
		var others []resp.Value // what the endpoint does not say
		if n.Endpoint == EndpointHostname || n.Endpoint == EndpointUnknown {
			others = append(others, resp.Bulk("ip"), resp.Bulk(n.IP))
		}
		if n.Endpoint != EndpointHostname && n.Hostname != "" {
			others = append(others, resp.Bulk("hostname"), resp.Bulk(n.Hostname))
		}
		out = append(out, resp.Array(resp.Int(n.First), resp.Int(n.Last), resp.Array(
			n.endpoint(resp.Null), resp.Int(v.clientPort(n)), resp.Bulk(n.ID), resp.Map(others...))))
	}
	return resp.Array(out...)
}

// Shards returns the reply to CLUSTER SHARDS.
func (v *View) Shards() resp.Value {
	var out []resp.Value
	for i := range v.Nodes {
		n := &v.Nodes[i]
		node := []resp.Value{resp.Bulk("id"), resp.Bulk(n.ID)}
		if n.Port != 0 {
			node = append(node, resp.Bulk("port"), resp.Int(n.Port))
		}
		if n.TLSPort != 0 {
			node = append(node, resp.Bulk("tls-port"), resp.Int(n.TLSPort))
		}
		node = append(node, resp.Bulk("ip"), resp.Bulk(n.IP),
			resp.Bulk("endpoint"), n.endpoint(resp.Bulk("")))
		if n.Hostname != "" {
			node = append(node, resp.Bulk("hostname"), resp.Bulk(n.Hostname))
		}
		node = append(node, resp.Bulk("role"), resp.Bulk("master"),
			resp.Bulk("replication-offset"), resp.Int(n.Offset), resp.Bulk("health"), resp.Bulk("online"))
		out = append(out, resp.Map(resp.Bulk("slots"), resp.Array(resp.Int(n.First), resp.Int(n.Last)),
			resp.Bulk("nodes"), resp.Array(resp.Map(node...))))
	}
	return resp.Array(out...)
}

// Describe returns the reply to CLUSTER NODES.
func (v *View) Describe() resp.Value {
	var b strings.Builder
	for i := range v.Nodes {
		n := &v.Nodes[i]
		hostname, flags := "", "master"
		if n.Hostname != "" {
			hostname = "," + n.Hostname
		}
		if i == v.Self {
			flags = "myself,master"
		}
		fmt.Fprintf(&b, "%s %s:%d@%d%s %s - 0 0 %d connected %d-%d\n",
			n.ID, n.IP, v.clientPort(n), n.BusPort, hostname, flags, n.Epoch, n.First, n.Last)
	}
	return resp.Verbatim(b.String())
}

// Links returns the reply to CLUSTER LINKS.
func (v *View) Links() resp.Value { return resp.Empty }

// ID returns the reply to CLUSTER MYID.
func (v *View) ID() resp.Value { return resp.Bulk(v.Nodes[v.Self].ID) }

// Info returns the reply to CLUSTER INFO.
func (v *View) Info() resp.Value {
	state := "ok"
	if v.Failed || v.Covered < commands.Slots {
		state = "fail"
	}
	epoch := int64(0)
	for i := range v.Nodes {
		epoch = max(epoch, v.Nodes[i].Epoch)
	}
	var b strings.Builder
	for _, line := range [...]struct {
		name  string
		value any
	}{
		{"cluster_state", state},
		{"cluster_slots_assigned", v.Covered},
		{"cluster_slots_ok", v.Covered},
		{"cluster_slots_pfail", 0},
		{"cluster_slots_fail", 0},
		{"cluster_known_nodes", len(v.Nodes)},
		{"cluster_size", len(v.Nodes)},
		{"cluster_current_epoch", epoch},
		{"cluster_my_epoch", v.Nodes[v.Self].Epoch},
		{"cluster_stats_messages_sent", 0},
		{"cluster_stats_messages_received", 0},
		{"total_cluster_links_buffer_limit_exceeded", 0},
	} {
		fmt.Fprintf(&b, "%s:%v\r\n", line.name, line.value)
	}
	return resp.Verbatim(b.String())
}
