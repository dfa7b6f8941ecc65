package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is the number of hash slots.
const slots = 16384

// Options describes a cluster. Its zero value has no nodes.
type Options struct {
	Masters int
	// Replicas is the number of replicas of each master.
	Replicas int
	// NodeTimeout is cluster-node-timeout: how long a master is silent before others take it for failed. 0
	// means 15 seconds, as in Redis, so that no master fails because the machine is busy.
	NodeTimeout time.Duration
	// Proxied gives each node a Proxy, whose address is the one that it announces.
	Proxied bool
	// Program is redis-server or another that takes its directives; "" means that of the environment
	// variable CLUSTER_SERVER or else redis-server.
	Program string
	// Directives are added to the configuration of each node.
	Directives []string
}

// A Cluster is nodes that know each other. Its methods must not be called concurrently.
type Cluster struct {
	Nodes []*Node

	options Options
	dir     string
	started int // nodes, also those that have left
}

// A Node is a server of a cluster, with a connection to it.
type Node struct {
	*Process
	*redis.Client
	ID    string
	Proxy *Proxy // nil: none
	known int    // the port by which clients and replicas know it
}

// Start starts a cluster with its files in dir, and returns when every slot is served and every
// replica is in step. The caller must Close it.
func Start(ctx context.Context, dir string, o Options) (*Cluster, error) {
	o.Program = cmp.Or(o.Program, os.Getenv("CLUSTER_SERVER"), "redis-server")
	if o.NodeTimeout == 0 {
		o.NodeTimeout = 15 * time.Second
	}
	path, err := exec.LookPath(o.Program)
	if err != nil {
		return nil, fmt.Errorf("%w (Debian: redis-server)", err)
	}
	o.Program = path
	c := &Cluster{options: o, dir: dir}
	if err := c.create(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) create(ctx context.Context) error {
	for i := range c.options.Masters * (1 + c.options.Replicas) {
		n, err := c.startNode(ctx)
		if err != nil {
			return err
		}
		if err := n.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
	}
	if err := c.setNodeTimeout(ctx, startTimeout); err != nil {
		return err
	}
	masters := c.Nodes[:c.options.Masters]
	for i, n := range masters {
		first, next := i*slots/len(masters), (i+1)*slots/len(masters)
		if err := n.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, next-1).Err(); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes[1:] {
		if err := c.meet(ctx, n); err != nil {
			return err
		}
	}
	if err := c.awaitAcquainted(ctx); err != nil {
		return err
	}
	for i, n := range c.Nodes[len(masters):] {
		if err := n.Do(ctx, "CLUSTER", "REPLICATE", masters[i%len(masters)].ID).Err(); err != nil {
			return err
		}
	}
	if err := c.AwaitReady(ctx); err != nil {
		return err
	}
	return c.setNodeTimeout(ctx, c.options.NodeTimeout)
}

// startTimeout is cluster-node-timeout while a cluster starts: the shorter it is, the more often nodes tell
// each other what they know.
const startTimeout = 2 * time.Second

func (c *Cluster) setNodeTimeout(ctx context.Context, timeout time.Duration) error {
	for _, n := range c.Nodes {
		ms := strconv.FormatInt(timeout.Milliseconds(), 10)
		if err := n.ConfigSet(ctx, "cluster-node-timeout", ms).Err(); err != nil {
			return err
		}
	}
	return nil
}

// startNode starts a node that knows no other.
func (c *Cluster) startNode(ctx context.Context) (*Node, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	n := &Node{known: ports[0]}
	directives := append([]string{
		"cluster-enabled yes", "cluster-config-file nodes.conf",
		"cluster-port " + strconv.Itoa(ports[1]),
		"cluster-node-timeout " + strconv.FormatInt(c.options.NodeTimeout.Milliseconds(), 10),
		"repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "cluster-announce-ip 127.0.0.1",
		"enable-debug-command yes",
	}, c.options.Directives...)
	if c.options.Proxied {
		if n.Proxy, err = startProxy(ports[0]); err != nil {
			return nil, err
		}
		n.known = n.Proxy.Port
		directives = append(directives, "bind-source-addr "+nodeSource,
			"cluster-announce-port "+strconv.Itoa(n.known))
	}
	name := "node " + strconv.Itoa(c.started)
	c.started++
	dir := filepath.Join(c.dir, strings.ReplaceAll(name, " ", ""))
	n.Process, err = NewProcess(name, c.options.Program, dir, ports[0], directives)
	if err == nil {
		err = n.Start()
	}
	if err != nil {
		return nil, err
	}
	n.Client = redis.NewClient(&redis.Options{
		Addr: Addr(n.Port), MaxRetries: -1, ReadTimeout: Patience, WriteTimeout: Patience,
		DisableIdentity: true,
	})
	c.Nodes = append(c.Nodes, n)
	return n, Await(ctx, n.Name+" answers", func() error {
		if err := n.Running(); err != nil {
			return errors.Join(err, errors.New(n.Log(3)))
		}
		id, err := n.Do(ctx, "CLUSTER", "MYID").Text()
		n.ID = id
		return err
	})
}

// Close ends all nodes.
func (c *Cluster) Close() {
	for _, n := range c.Nodes {
		n.close()
	}
}

func (n *Node) close() {
	n.Kill()
	if n.Client != nil {
		_ = n.Close()
	}
	if n.Proxy != nil {
		n.Proxy.close()
	}
}

// meet introduces a node to the first that runs.
func (c *Cluster) meet(ctx context.Context, n *Node) error {
	first, err := c.running(n)
	if err != nil {
		return err
	}
	bus, err := first.ConfigGet(ctx, "cluster-port").Result()
	if err != nil {
		return err
	}
	return n.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", first.Port, bus["cluster-port"]).Err()
}

// running returns a node that runs and is not one of the others.
func (c *Cluster) running(others ...*Node) (*Node, error) {
next:
	for _, n := range c.Nodes {
		for _, other := range others {
			if n == other {
				continue next
			}
		}
		if n.Running() == nil {
			return n, nil
		}
	}
	return nil, errors.New("no node runs")
}

// awaitAcquainted waits until every node knows every other.
func (c *Cluster) awaitAcquainted(ctx context.Context) error {
	return Await(ctx, "nodes know each other", func() error {
		for _, n := range c.Nodes {
			known, err := n.view(ctx)
			if err != nil {
				return err
			}
			for _, other := range c.Nodes {
				if v, ok := known[other.ID]; !ok || strings.Contains(v.flags, "handshake") {
					return fmt.Errorf("%s does not know %s", n.Name, other.Name)
				}
			}
		}
		return nil
	})
}

// AwaitReady waits until all nodes that run agree who has which slots, all slots are served, and
// replicas have what their masters have.
func (c *Cluster) AwaitReady(ctx context.Context) error {
	return Await(ctx, "the cluster is ready", func() error {
		var agreed string
		for _, n := range c.Nodes {
			if n.Running() != nil {
				continue
			}
			info, err := n.fields(ctx, "CLUSTER", "INFO")
			if err != nil {
				return err
			}
			if info["cluster_state"] != "ok" {
				return fmt.Errorf("%s: cluster_state is %s", n.Name, info["cluster_state"])
			}
			text, err := n.owners(ctx)
			if err != nil {
				return err
			}
			if agreed == "" {
				agreed = text
			}
			if agreed != text {
				return fmt.Errorf("%s has another view of the slots", n.Name)
			}
			replication, err := n.fields(ctx, "INFO", "replication")
			if err != nil {
				return err
			}
			if replication["role"] == "slave" && replication["master_link_status"] != "up" {
				return fmt.Errorf("%s has no master", n.Name)
			}
		}
		return nil
	})
}

// fields returns the lines name:value of a reply.
func (n *Node) fields(ctx context.Context, words ...any) (map[string]string, error) {
	text, err := n.Do(ctx, words...).Text()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			found[name] = value
		}
	}
	return found, nil
}
