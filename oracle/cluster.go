package oracle

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxInline is how long a command may be that ask sends.
const maxInline = 64<<10 - 2

// slots is the number of hash slots of a cluster.
const slots = 16384

// settlingMs is how long nodes must have known each other, by their clocks, before they serve.
const settlingMs = 20_000

// A Cluster is masters that share the slots and, unless they run in real time, one clock.
type Cluster struct{ nodes []*Redis }

// StartCluster runs so many masters, each as Start does, and returns once they serve all slots. The caller
// must Close the cluster.
func StartCluster(o Options, masters int) (*Cluster, error) {
	return StartClusterOf(slices.Repeat([]Options{o}, masters)...)
}

// StartClusterOf runs a master for each of the options, which may be of different programs, and agree on the
// time.
func StartClusterOf(masters ...Options) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(masters); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(masters []Options) error {
	endMs := masters[0].NowMs
	for i, o := range masters {
		o.NowMs -= settlingMs
		n, err := startNode(o)
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
		commands := []string{fmt.Sprint("CLUSTER SET-CONFIG-EPOCH ", i+1)}
		for slot, end := i*slots/len(masters), (i+1)*slots/len(masters); slot < end; {
			add := "CLUSTER ADDSLOTS" // ADDSLOTSRANGE is of Redis 7.0
			for ; slot < end && len(add) < maxInline-len(" 16383"); slot++ {
				add += " " + strconv.Itoa(slot)
			}
			commands = append(commands, add)
		}
		if i > 0 {
			_, port, err := net.SplitHostPort(c.nodes[0].addr)
			if err != nil {
				return err
			}
			commands = append(commands, fmt.Sprint("CLUSTER MEET 127.0.0.1 ", port, " ", c.nodes[0].bus))
		}
		for _, command := range commands {
			if _, err := n.ask(command); err != nil {
				return fmt.Errorf("oracle: %s: %w", command, err)
			}
		}
	}
	if masters[0].RealTime {
		return c.await("cluster_state:ok")
	}
	for nowMs := endMs - settlingMs; nowMs <= endMs; nowMs += 500 {
		if err := errors.Join(c.SetClock(nowMs), c.await("cluster_slots_assigned:16384")); err != nil {
			return err
		}
	}
	return c.await("cluster_state:ok")
}

// startNode starts a node that knows no other.
func startNode(o Options) (n *Redis, err error) {
	args := o.Args
	for range startAttempts {
		bus, err := freePort()
		if err != nil {
			return nil, err
		}
		// Nodes whose clocks jump take each other for dead unless they wait for weeks.
		o.Args = append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "2000000000",
		}, args...)
		fixed := o.Program != "" && Release(o.Program) < 700 // the bus is 10000 above the port
		if !fixed {
			o.Args = append(o.Args, "--cluster-port", strconv.Itoa(bus))
		}
		n, err = Start(o)
		switch {
		case err == nil && fixed:
			_, port, splitErr := net.SplitHostPort(n.addr)
			number, portErr := strconv.Atoi(port)
			n.bus = number + 10_000
			return n, errors.Join(splitErr, portErr)
		case err == nil:
			n.bus = bus
			return n, nil
		case !fixed && !errors.Is(err, errPortTaken): // also that of the bus
			return nil, err
		}
	}
	return nil, errPortTaken
}

// await waits until CLUSTER INFO of each node has a line.
func (c *Cluster) await(line string) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.Now().Add(startTimeout)
	for _, n := range c.nodes {
		for {
			reply, err := n.ask("CLUSTER INFO")
			if err != nil {
				return err
			}
			text := fmt.Sprint(reply)
			if strings.Contains(text, line) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("oracle: the cluster is not ready after %v:\n%s", startTimeout, text)
			}
			<-poll.C
		}
	}
	return nil
}

// Addrs returns the addresses of the nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.addr)
	}
	return addrs
}

// SetClock moves the clocks of all nodes, as Redis.SetClock does.
func (c *Cluster) SetClock(nowMs int64) error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.SetClock(nowMs))
	}
	return errors.Join(errs...)
}

// Close ends all nodes.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}
