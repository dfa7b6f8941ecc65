package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A view is what a node knows of another: a line of CLUSTER NODES.
type view struct {
	flags  string
	master string // its ID, or "-"
	slots  []string
}

// view returns what a node knows of each, by ID.
func (n *Node) view(ctx context.Context) (map[string]view, error) {
	text, err := n.Do(ctx, "CLUSTER", "NODES").Text()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	found := map[string]view{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 {
			return nil, fmt.Errorf("CLUSTER NODES has %q", line)
		}
		found[words[0]] = view{flags: words[2], master: words[3], slots: words[8:]}
	}
	return found, nil
}

// owners returns which masters have which slots, and which nodes are their replicas, in a form to compare.
func (n *Node) owners(ctx context.Context) (string, error) {
	all, err := n.view(ctx)
	var lines []string
	for id, v := range all {
		if len(v.slots) > 0 || v.master != "-" {
			lines = append(lines, id+" "+v.master+" "+strings.Join(v.slots, " "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), err
}

// Masters returns the nodes that have slots, as a node that runs and is not one of the others sees it.
func (c *Cluster) Masters(ctx context.Context, others ...*Node) ([]*Node, error) {
	n, err := c.running(others...)
	if err != nil {
		return nil, err
	}
	all, err := n.view(ctx)
	var masters []*Node
	for _, n := range c.Nodes {
		if v := all[n.ID]; len(v.slots) > 0 && strings.Contains(v.flags, "master") {
			masters = append(masters, n)
		}
	}
	return masters, err
}

// Replica returns a replica of a master.
func (c *Cluster) Replica(ctx context.Context, master *Node) (*Node, error) {
	all, err := master.view(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Nodes {
		if all[n.ID].master == master.ID && n.Running() == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s has no replica", master.Name)
}

// Owner returns the node that has the slot of a key.
func (c *Cluster) Owner(ctx context.Context, key string) (*Node, error) {
	n, err := c.running()
	if err != nil {
		return nil, err
	}
	slot, err := n.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	return c.ownerBy(ctx, n, int(slot))
}

// ranges returns which nodes have which slots; the master of each range comes first.
func (n *Node) ranges(ctx context.Context) ([]redis.ClusterSlot, error) {
	return n.ClusterSlots(ctx).Result() //nolint:staticcheck // CLUSTER SHARDS does not say who the master is
}

// ownerBy returns the node that has a slot, as another sees it.
func (c *Cluster) ownerBy(ctx context.Context, by *Node, slot int) (*Node, error) {
	ranges, err := by.ranges(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		if slot < r.Start || slot > r.End {
			continue
		}
		for _, n := range c.Nodes {
			if n.ID == r.Nodes[0].ID {
				return n, nil
			}
		}
	}
	return nil, fmt.Errorf("%s knows no owner of slot %d", by.Name, slot)
}

// AwaitOwner waits until all nodes that run agree that a slot has another owner than before, and returns
// that.
func (c *Cluster) AwaitOwner(ctx context.Context, slot int, before *Node) (owner *Node, err error) {
	err = Await(ctx, before.Name+" is replaced", func() error {
		owner, err = c.otherOwner(ctx, slot, before)
		return err
	})
	return owner, err
}

// AwaitOwnerFor is AwaitOwner for a time only.
func (c *Cluster) AwaitOwnerFor(ctx context.Context, patience time.Duration, slot int, before *Node) error {
	return awaitFor(ctx, patience, before.Name+" is replaced", func() error {
		_, err := c.otherOwner(ctx, slot, before)
		return err
	})
}

// otherOwner returns the owner of a slot on which all nodes that run agree, unless it is the one before.
func (c *Cluster) otherOwner(ctx context.Context, slot int, before *Node) (owner *Node, err error) {
	for _, n := range c.Nodes {
		if n.Running() != nil {
			continue
		}
		now, err := c.ownerBy(ctx, n, slot)
		if err != nil {
			return nil, err
		}
		if now == before || owner != nil && now != owner {
			return nil, fmt.Errorf("%s says that slot %d has %s", n.Name, slot, now.Name)
		}
		owner = now
	}
	return owner, nil
}

// Addrs returns the addresses of all nodes, as clients are given them.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, Addr(n.known))
	}
	return addrs
}

// URL returns the addresses as zlimit-server takes them.
func (c *Cluster) URL() string { return "redis://" + strings.Join(c.Addrs(), ",") }
