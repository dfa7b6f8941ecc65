package upstream

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

func TestNodesThatNameNoHost(t *testing.T) {
	for _, c := range []struct{ asked, named, want string }{
		{"127.0.0.1:7000", "10.0.0.1:7001", "10.0.0.1:7001"},
		{"127.0.0.1:7000", ":7001", "127.0.0.1:7001"},
		{"127.0.0.1:7000", "?:7001", "127.0.0.1:7001"},
		{"[::1]:7000", ":7001", "[::1]:7001"},
		{"[::1]:7000", "?:7001", "[::1]:7001"},
		{"127.0.0.1:7000", "::1:7001", "[::1]:7001"}, // as redis-server writes it
		{"127.0.0.1:7000", "[::1]:7001", "[::1]:7001"},
		{"[fe80::1%eth0]:7000", ":7001", "[fe80::1%eth0]:7001"},
		{"host:7000", ":7001", "host:7001"},
		{"host:7000", "7001", "host:7001"},
	} {
		require.Equal(t, c.want, redirectedTo(c.asked, c.named), "%v", c)
	}
}

// TestUnknownEndpoints has nodes that do not say their address, over IPv4 and IPv6: in CLUSTER SLOTS with
// an empty host, null or "?", in redirections with none.
func TestUnknownEndpoints(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, host := range []string{"$-1\r\n", "$0\r\n\r\n", "$1\r\n?\r\n"} {
			t.Run(at+" "+strings.Fields(host)[0], func(t *testing.T) {
				l, err := net.Listen("tcp", at)
				if err != nil {
					t.Skip("the machine has no such addresses: ", err)
				}
				l.Close()
				var nodes [2]*fake
				redirected := map[string]string{"b": "MOVED", "{b}x": "ASK"}
				ready := make(chan struct{})
				for i := range nodes {
					nodes[i] = newFakeAt(t, at, func(args []string) string {
						<-ready
						_, port, _ := net.SplitHostPort(nodes[1].addr)
						switch strings.ToLower(args[0]) {
						case "cluster":
							_, own, _ := net.SplitHostPort(nodes[0].addr)
							node := func(port string) string {
								return "*4\r\n" + host + ":" + port + "\r\n$2\r\nid\r\n*0\r\n"
							}
							return "*1\r\n*4\r\n:0\r\n:16383\r\n" + node(own) + node(port)
						case "asking":
							return "+OK\r\n"
						}
						if word := redirected[args[1]]; word != "" && i == 0 {
							return fmt.Sprintf("-%s 3300 :%s\r\n", word, port)
						}
						return fmt.Sprintf("+%c\r\n", 'a'+i)
					})
				}
				close(ready)
				u := open(t, "redis+cluster://"+nodes[0].addr, nil)
				require.Equal(t, []string{"+b\r\n", "+b\r\n", "+a\r\n"}, u.do("GET b", "GET {b}x", "GET a"))
			})
		}
	}
}

// TestUnknownEndpointsOfRedis has two nodes of redis-server that do not say their address.
func TestUnknownEndpointsOfRedis(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip(err)
	}
	c, err := oracle.StartCluster(oracle.Options{
		RealTime: true, Args: []string{"--cluster-preferred-endpoint-type", "unknown-endpoint"},
	}, 2)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	u := open(t, "redis://"+c.Addrs()[0], nil)
	require.Equal(t, []string{"+OK\r\n", "+OK\r\n", "$1\r\n1\r\n", "$1\r\n2\r\n"},
		u.do("SET a 1", "SET b 2", "GET a", "GET b"))
	require.ElementsMatch(t, c.Addrs(), strings.Split(addresses(u.topology.Load().masters), ","))

	u.topology.Store(&topology{ // a gateway that has not heard of the second one
		kind: Cluster, loaded: true, masters: []*node{u.node(c.Addrs()[0])},
	})
	require.Equal(t, []string{"$1\r\n1\r\n", "$1\r\n2\r\n"}, u.do("GET a", "GET b"),
		"by MOVED with an empty host")
}
