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

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

func main() {
	server := flag.String("server", "../../zlimit-server", "path of zlimit-server")
	flag.Parse()
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
		Masters: 3, Replicas: 1, NodeTimeout: 2 * time.Second,
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
	return explain(ctx, c, gateways)
}

// explain prints what can be tried, and waits.
func explain(ctx context.Context, c *nodes.Cluster, gateways []*nodes.Process) error {
	fmt.Println("A cluster of redis-server; its files are in", filepath.Dir(c.Nodes[0].Dir))
	for _, n := range c.Nodes {
		role, err := n.Do(ctx, "ROLE").Slice()
		if err != nil {
			return err
		}
		fmt.Printf("  %-7s port %d  process %-7d %v\n", n.Name, n.Port, n.PID(), role[0])
	}
	a, b := gateways[0].Port, gateways[1].Port
	fmt.Printf(`
Two gateways before it, on the ports %d and %d. Type in another terminal:

  redis-cli -p %[1]d RL.ALLOW user:42 5 1m FULL    # five times here or there, then denied on both
  redis-cli -p %[2]d RL.ALLOW user:42 5 1m FULL
  redis-cli -p %[1]d RL.MALLOW 2 {u}:a 5 1m {u}:b 9 1h
  redis-cli -p %[1]d INFO upstream
  redis-cli -p %[3]d ZCARD user:42                 # what a node has, or MOVED

  kill -9 %[4]d                                     # the first master: its replica takes over
  redis-cli -p %[3]d CLUSTER NODES

Interrupt (Ctrl-C) ends everything.
`, a, b, c.Nodes[1].Port, c.Nodes[0].PID())
	<-ctx.Done()
	return nil
}
