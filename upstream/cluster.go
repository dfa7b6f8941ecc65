package upstream

import (
	"crypto/sha1"
	"encoding/hex"
	"net"
	"slices"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/cluster"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// answer sets the reply to CLUSTER and its like, READONLY, READWRITE, ASKING and SELECT of a client of
// a cluster. The nodes that it names are the gateways, each with a share of the slots: any of them takes a
// call of any slot. A call that the engine has to answer gets no reply.
func (u *Upstream) answer(c *call.Call) {
	if !u.isCluster() {
		return
	}
	var reply resp.Value
	if c.Cmd.Selects {
		if n, ok := store.ParseInt(c.Args[1]); ok && n > 0 && n < store.Databases {
			reply = commands.NotInCluster(c.Cmd)
		}
	} else {
		reply = cluster.Run(&commands.Ctx{Cmd: c.Cmd, Args: c.Args, Proto: c.Proto}, u.view(c))
	}
	if reply.Kind() != resp.KindNone {
		c.Reply = encode(reply, c.Proto)
	}
}

// view returns the gateways as the nodes of a cluster, as a client sees it.
func (u *Upstream) view(c *call.Call) *cluster.View {
	addrs := u.options.Announce
	if len(addrs) == 0 {
		addrs = []string{c.Addr}
	}
	t := u.topology.Load()
	v := &cluster.View{Self: max(slices.Index(addrs, c.Addr), 0), Failed: t.err != nil}
	for _, n := range t.slots {
		if n != nil {
			v.Covered++
		}
	}
	for i, addr := range addrs {
		host, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.ParseInt(port, 10, 64)
		v.Nodes = append(v.Nodes, cluster.Node{
			ID: gatewayID(addr), IP: host, Port: n, Epoch: int64(i + 1),
			First: int64(i * commands.Slots / len(addrs)), Last: int64((i+1)*commands.Slots/len(addrs)) - 1,
		})
	}
	return v
}

// gatewayID returns the name of a gateway as a node: 40 hexadecimal digits, always the same.
func gatewayID(addr string) string {
	sum := sha1.Sum([]byte("zlimit gateway " + addr))
	return hex.EncodeToString(sum[:])
}
