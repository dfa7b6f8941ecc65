package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// MoveSlots moves slots with their keys from one master to another while clients go on, as
// redis-cli --cluster reshard does: slot after slot, a batch of keys at a time. A master without slots
// becomes a replica of the one that got its last.
func (c *Cluster) MoveSlots(ctx context.Context, from, to *Node, numbers []int) error {
	for _, slot := range numbers {
		if err := c.moveSlot(ctx, from, to, slot); err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
	}
	return nil
}

func (c *Cluster) moveSlot(ctx context.Context, from, to *Node, slot int) error {
	if err := to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.ID).Err(); err != nil {
		return err
	}
	if err := from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.ID).Err(); err != nil {
		return err
	}
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, slot, 10).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		words := []any{"MIGRATE", "127.0.0.1", to.Port, "", 0, Patience.Milliseconds(), "KEYS"}
		for _, key := range keys {
			words = append(words, key)
		}
		if err := from.Do(ctx, words...).Err(); err != nil {
			return err
		}
	}
	// The new owner first, so that the slot is never without one.
	masters, err := c.Masters(ctx)
	if err != nil {
		return err
	}
	masters = slices.DeleteFunc(masters, func(n *Node) bool { return n == from || n == to })
	for _, n := range append([]*Node{to, from}, masters...) {
		err := n.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", to.ID).Err()
		if n == from && err != nil && strings.Contains(err.Error(), "only with masters") {
			continue // it has heard of its last slot's new owner, and is a replica of that
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

// Slots returns the slots of a node.
func (n *Node) Slots(ctx context.Context) ([]int, error) {
	ranges, err := n.ranges(ctx)
	var numbers []int
	for _, r := range ranges {
		if r.Nodes[0].ID != n.ID {
			continue
		}
		for slot := r.Start; slot <= r.End; slot++ {
			numbers = append(numbers, slot)
		}
	}
	return numbers, err
}

// AddNode adds a master without slots.
func (c *Cluster) AddNode(ctx context.Context) (*Node, error) {
	n, err := c.startNode(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.meet(ctx, n); err != nil {
		return nil, err
	}
	if err := c.awaitAcquainted(ctx); err != nil {
		return nil, err
	}
	return n, c.AwaitReady(ctx) // a node accepts keys some time after it has joined
}

// RemoveNode makes all others forget a node without slots, and ends it.
func (c *Cluster) RemoveNode(ctx context.Context, gone *Node) error {
	for _, n := range c.Nodes {
		if n == gone || n.Running() != nil {
			continue
		}
		if err := n.Do(ctx, "CLUSTER", "FORGET", gone.ID).Err(); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n *Node) bool { return n == gone })
	gone.close()
	return nil
}

// Count returns the sum of an integer reply over all masters, as of DBSIZE.
func (c *Cluster) Count(ctx context.Context, words ...any) (sum int64, err error) {
	masters, err := c.Masters(ctx)
	for _, n := range masters {
		count, err := n.Do(ctx, words...).Int64()
		if err != nil {
			return 0, fmt.Errorf("%s of %s: %w", strings.TrimSpace(fmt.Sprintln(words...)), n.Name, err)
		}
		sum += count
	}
	return sum, err
}

// Uncover takes the slots from first to last away from their masters, so that no node has them. Keys stay
// where they are.
func (c *Cluster) Uncover(ctx context.Context, first, last int) error {
	// What a node was told before the owner had forgotten a slot makes it one of the owner's again.
	return Await(ctx, "slots are of no node", func() (again error) {
		for _, n := range c.Nodes {
			if n.Running() != nil {
				continue
			}
			ranges, err := n.ranges(ctx)
			if err != nil {
				return err
			}
			for _, r := range ranges {
				from, to := max(first, r.Start), min(last, r.End)
				if from > to {
					continue
				}
				again = fmt.Errorf("%s knew an owner of slot %d", n.Name, from)
				if err := n.Do(ctx, "CLUSTER", "DELSLOTSRANGE", from, to).Err(); err != nil {
					return err
				}
			}
		}
		return again
	})
}

// Cover gives slots that no node has to a master.
func (c *Cluster) Cover(ctx context.Context, master *Node, first, last int) error {
	return master.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last).Err()
}
