package upstream

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// answer sets the reply to CLUSTER SLOTS and its like, READONLY, READWRITE, ASKING and SELECT of a client of
// a cluster. The nodes that it names are the gateways, each with a share of the slots: any of them takes a
// call of any slot. A call that the engine has to answer gets no reply.
func (u *Upstream) answer(c *call.Call) {
	answer := clusterAnswers[c.Cmd.FullName()]
	if answer == nil || !u.isCluster() {
		return
	}
	gateways := u.options.Announce
	if len(gateways) == 0 {
		gateways = []string{c.Addr}
	}
	if reply := answer(u, gateways, c); reply.Kind() != resp.KindNone {
		c.Reply = encode(reply, c.Proto)
	}
}

var clusterAnswers = map[string]func(u *Upstream, gateways []string, c *call.Call) resp.Value{
	"asking":         acceptInCluster,
	"readonly":       acceptInCluster,
	"readwrite":      acceptInCluster,
	"select":         selectInCluster,
	"cluster|info":   (*Upstream).clusterInfo,
	"cluster|myid":   (*Upstream).clusterMyID,
	"cluster|nodes":  (*Upstream).clusterNodes,
	"cluster|shards": (*Upstream).clusterShards,
	"cluster|slots":  (*Upstream).clusterSlots,
}

func acceptInCluster(*Upstream, []string, *call.Call) resp.Value { return resp.OK }

// SELECT index
func selectInCluster(_ *Upstream, _ []string, c *call.Call) resp.Value {
	if n, ok := store.ParseInt(c.Args[1]); ok && n > 0 && n < store.Databases {
		return resp.Error("ERR SELECT is not allowed in cluster mode")
	}
	return resp.None
}

// A gateway is one server as a node of a cluster.
type gateway struct {
	host        string
	port        int64
	id          string
	first, last int64 // its slots
}

// asNodes returns the gateways with their shares of the slots.
func asNodes(addrs []string) []gateway {
	out := make([]gateway, len(addrs))
	for i, addr := range addrs {
		host, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.ParseInt(port, 10, 64)
		out[i] = gateway{
			host: host, port: n, id: gatewayID(addr),
			first: int64(i * commands.Slots / len(addrs)), last: int64((i+1)*commands.Slots/len(addrs)) - 1,
		}
	}
	return out
}

// gatewayID returns the name of a gateway as a node: 40 hexadecimal digits, always the same.
func gatewayID(addr string) string {
	sum := sha1.Sum([]byte("zlimit gateway " + addr))
	return hex.EncodeToString(sum[:])
}

// CLUSTER SLOTS
func (u *Upstream) clusterSlots(gateways []string, _ *call.Call) resp.Value {
	var out []resp.Value
	for _, g := range asNodes(gateways) {
		out = append(out, resp.Array(resp.Int(g.first), resp.Int(g.last),
			resp.Array(resp.Bulk(g.host), resp.Int(g.port), resp.Bulk(g.id), resp.Empty)))
	}
	return resp.Array(out...)
}

// CLUSTER SHARDS
func (u *Upstream) clusterShards(gateways []string, _ *call.Call) resp.Value {
	var out []resp.Value
	for _, g := range asNodes(gateways) {
		node := resp.Map(resp.Bulk("id"), resp.Bulk(g.id), resp.Bulk("port"), resp.Int(g.port),
			resp.Bulk("ip"), resp.Bulk(g.host), resp.Bulk("endpoint"), resp.Bulk(g.host),
			resp.Bulk("role"), resp.Bulk("master"), resp.Bulk("replication-offset"), resp.Int(0),
			resp.Bulk("health"), resp.Bulk("online"))
		out = append(out, resp.Map(resp.Bulk("slots"), resp.Array(resp.Int(g.first), resp.Int(g.last)),
			resp.Bulk("nodes"), resp.Array(node)))
	}
	return resp.Array(out...)
}

// CLUSTER NODES
func (u *Upstream) clusterNodes(gateways []string, c *call.Call) resp.Value {
	var b strings.Builder
	self := self(gateways, c.Addr)
	for i, g := range asNodes(gateways) {
		flags := "master"
		if i == self {
			flags = "myself,master"
		}
		fmt.Fprintf(&b, "%s %s:%d@0 %s - 0 0 %d connected %d-%d\n",
			g.id, g.host, g.port, flags, i+1, g.first, g.last)
	}
	return resp.Verbatim(b.String())
}

// self returns which of the gateways this is: the one that the client has reached, or the first.
func self(gateways []string, addr string) int { return max(slices.Index(gateways, addr), 0) }

// CLUSTER MYID
func (u *Upstream) clusterMyID(gateways []string, c *call.Call) resp.Value {
	return resp.Bulk(gatewayID(gateways[self(gateways, c.Addr)]))
}

// CLUSTER INFO
func (u *Upstream) clusterInfo(gateways []string, _ *call.Call) resp.Value {
	t := u.topology.Load()
	covered := 0
	for _, n := range t.slots {
		if n != nil {
			covered++
		}
	}
	state := "ok"
	if covered < commands.Slots || t.err != nil {
		state = "fail"
	}
	var b strings.Builder
	for _, line := range []struct {
		name  string
		value any
	}{
		{"state", state},
		{"slots_assigned", covered},
		{"slots_ok", covered},
		{"slots_pfail", 0},
		{"slots_fail", 0},
		{"known_nodes", len(gateways)},
		{"size", len(gateways)},
		{"current_epoch", 1},
		{"my_epoch", 1},
	} {
		fmt.Fprintf(&b, "cluster_%s:%v\r\n", line.name, line.value)
	}
	return resp.Verbatim(b.String())
}
