package upstream

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

var errSlots = errors.New("unexpected reply to CLUSTER SLOTS")

// ClusterSlots asks the node at addr which nodes have which slots; the master of each range comes first.
// Unlike redis.Client.ClusterSlots it accepts nodes that name no host.
func ClusterSlots(ctx context.Context, client *redis.Client, addr string) ([]redis.ClusterSlot, error) {
	reply, err := client.Do(ctx, "CLUSTER", "SLOTS").Slice()
	if err != nil {
		return nil, err
	}
	out := make([]redis.ClusterSlot, len(reply))
	for i, entry := range reply {
		fields, _ := entry.([]any)
		if len(fields) < 3 {
			return nil, errSlots
		}
		first, ok := fields[0].(int64)
		last, alsoOK := fields[1].(int64)
		if !ok || !alsoOK {
			return nil, errSlots
		}
		out[i].Start, out[i].End = int(first), int(last)
		for _, field := range fields[2:] {
			node, _ := field.([]any)
			if len(node) < 2 {
				return nil, errSlots
			}
			host, named := node[0].(string)
			port, ok := node[1].(int64)
			if !ok || !named && node[0] != nil {
				return nil, errSlots
			}
			out[i].Nodes = append(out[i].Nodes, redis.ClusterNode{
				Addr: nodeAddr(addr, host, strconv.FormatInt(port, 10)),
			})
		}
	}
	return out, nil
}

// nodeAddr returns the address of a node that another names. Without a host, or with "?", which Redis
// writes for a name that it does not know, it is the host that was asked.
func nodeAddr(asked, host, port string) string {
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(asked)
	}
	return net.JoinHostPort(host, port)
}

// redirectedTo returns the address in a redirection. Redis writes those of IPv6 without brackets.
func redirectedTo(asked, named string) string {
	colon := strings.LastIndexByte(named, ':')
	return nodeAddr(asked, strings.Trim(named[:max(colon, 0)], "[]"), named[colon+1:])
}
