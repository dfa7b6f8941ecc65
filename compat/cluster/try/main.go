// Command try starts a cluster of three masters and three replicas of redis-server on free ports of
// loopback, with two gateways before it, prints what to type, and ends them all when it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

func main() {
	server := flag.String("server", "../../zlimit-server", "path of zlimit-server")
	flag.Parse()
	logging.Disable() // go-redis' own log: a line for each connection that is refused
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *server); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, server string) error {
	path, err := filepath.Abs(server)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zlimit-cluster-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := nodes.Start(ctx, dir, nodes.Options{
		Masters: 3, Replicas: 1, NodeTimeout: 2 * time.Second, Proxied: true,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	gateways, err := nodes.StartGateways(ctx, 2, path, dir, c.URL(), "upstream-announce "+nodes.Announced)
	for _, p := range gateways {
		defer p.Kill()
	}
	if err != nil {
		return err
	}
	if err := explain(ctx, c, gateways); err != nil {
		return err
	}
	return serve(ctx, c.Nodes[0].Proxy)
}

// serve cuts the first node off and connects it again, on signals, until it is interrupted.
func serve(ctx context.Context, p *nodes.Proxy) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-signals:
			if s == syscall.SIGUSR1 {
				p.Cut()
				fmt.Println("The gateways are cut off from node 0.")
			} else {
				p.Heal()
				fmt.Println("Node 0 can be reached again.")
			}
		}
	}
}

// explain prints what can be tried.
func explain(ctx context.Context, c *nodes.Cluster, gateways []*nodes.Process) error {
	fmt.Println("A cluster of redis-server; its files are in", filepath.Dir(c.Nodes[0].Dir))
	for _, n := range c.Nodes {
		role, err := n.Do(ctx, "ROLE").Slice()
		if err != nil {
			return err
		}
		fmt.Printf("  %-7s port %d  process %-7d %v\n", n.Name, n.Port, n.PID(), role[0])
	}
	fmt.Printf(`
Two gateways before it, on the ports %d and %d. Type in another terminal:

  redis-cli -p %[1]d RL.ALLOW user:42 5 1m FULL    # five times here or there, then denied on both
  redis-cli -p %[2]d RL.ALLOW user:42 5 1m FULL
  redis-cli -p %[1]d RL.MALLOW 2 {u}:a 5 1m {u}:b 9 1h
  redis-cli -p %[1]d INFO upstream
  redis-cli -p %[3]d ZCARD user:42                 # what a node has, or MOVED
  redis-cli -p %[3]d CLUSTER NODES

What callers of all masters see of that which follows, ten times a second, until interrupted:

  while sleep .1; do for k in b c a; do redis-cli -p %[1]d RL.ALLOW $k 9 1s; done; done | grep -v '^[0-9]'

Slots move: a hundred from node 0 to node 1, with their keys. Callers see nothing.

  redis-cli --cluster reshard 127.0.0.1:%[3]d --cluster-from %[4]s \
    --cluster-to %[5]s --cluster-slots 100 --cluster-yes

Node 0 is cut off from clients for a while, and not from other nodes.

  kill -USR1 %[6]d
  kill -USR2 %[6]d    # it can be reached again

Node 0 stops; its replica takes over after about three seconds. When node 0 goes on, it is the replica.

  kill -STOP %[7]d
  kill -CONT %[7]d

Its replica gives way to it again, and it dies, so that its replica takes over for good.

  redis-cli -p %[8]d CLUSTER FAILOVER
  kill -9 %[7]d

Interrupt (Ctrl-C) ends everything.
`, gateways[0].Port, gateways[1].Port, c.Nodes[1].Port, c.Nodes[0].ID, c.Nodes[1].ID, os.Getpid(),
		c.Nodes[0].PID(), c.Nodes[0].Port)
	return nil
}
