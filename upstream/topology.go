package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

const (
	// refreshEvery is how often the topology is read although nothing has shown that it changed.
	refreshEvery = 5 * time.Second
	// refreshPause is the shortest time between two readings.
	refreshPause = 50 * time.Millisecond
)

// A topology is what is known of the upstream's nodes at one time. It does not change.
type topology struct {
	kind     Kind
	slots    *[commands.Slots]*node // of a cluster: the masters; nil: no node has the slot
	masters  []*node                // sorted by address; empty: none is known
	replicas []*node
	loaded   bool
	err      error // of the last reading; nil: it succeeded
}

// master returns the node of a slot, or nil. A slot below 0 is of no key: any node has it.
func (t *topology) master(slot int) *node {
	switch {
	case slot >= 0 && t.slots != nil:
		return t.slots[slot]
	case len(t.masters) == 0:
		return nil
	}
	for _, n := range t.masters {
		if n.awaySince.Load() == 0 {
			return n
		}
	}
	return t.masters[0]
}

// A refresher reads the topology when asked, one reading at a time.
type refresher struct {
	upstream *Upstream

	mu      sync.Mutex
	running chan struct{} // protected by mu: closed when the reading under way ends; nil: none is
	last    time.Time     // protected by mu: when the last reading ended
}

func (r *refresher) init(u *Upstream) {
	r.upstream = u
	u.background(func() {
		tick := time.NewTicker(refreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-u.ending.Done():
				return
			case now := <-tick.C:
				u.limits.look(now)
				<-r.ask()
			}
		}
	})
	r.ask()
}

// ask starts a reading, unless one is under way. The channel is closed when it ends.
func (r *refresher) ask() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		return r.running
	}
	done := make(chan struct{})
	r.running = done
	wait := refreshPause - time.Since(r.last)
	if !r.upstream.background(func() { r.run(done, wait) }) {
		r.running = nil
		close(done)
	}
	return done
}

func (r *refresher) run(done chan struct{}, wait time.Duration) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running, r.last = nil, time.Now()
		close(done)
	}()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-r.upstream.ending.Done():
			return
		}
	}
	r.upstream.load()
}

// current returns the topology, after the first reading if there was none. It waits until due.
func (u *Upstream) current(due time.Time) *topology {
	t := u.topology.Load()
	if t.loaded {
		return t
	}
	select {
	case <-u.refresh.ask():
	case <-time.After(time.Until(due)):
	case <-u.ending.Done():
	}
	return u.topology.Load()
}

// load reads the topology. If no node tells it, the old one stays, with the error.
func (u *Upstream) load() {
	old := u.topology.Load()
	var next *topology
	var err error
	if u.options.Address.Kind == Sentinel {
		next, err = u.askSentinels()
	} else {
		next, err = u.askNodes(old)
	}
	if u.ending.Err() != nil {
		return
	}
	if err != nil {
		failed := *old
		failed.err = err
		u.topology.Store(&failed)
		if old.err == nil {
			u.options.Log.Warn("upstream: cannot be read", "error", err)
		}
		return
	}
	next.loaded = true
	u.topology.Store(next)
	if !old.loaded || old.err != nil || !slices.Equal(old.masters, next.masters) {
		u.options.Log.Info("upstream: found", "kind", next.kind.String(), "masters", addresses(next.masters),
			"replicas", len(next.replicas))
	}
	keep := make(map[*node]bool)
	for _, n := range slices.Concat(next.masters, next.replicas) {
		keep[n] = true
	}
	u.retain(keep)
	u.topics.moved()
}

func addresses(nodes []*node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.addr)
	}
	return strings.Join(all, ",")
}

// askNodes asks the nodes one after the other, those last that do not answer.
func (u *Upstream) askNodes(old *topology) (*topology, error) {
	var addrs []string
	for _, n := range slices.Concat(old.masters, old.replicas) {
		addrs = append(addrs, n.addr)
	}
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	for _, seed := range u.options.Address.Seeds {
		if !slices.Contains(addrs, seed) {
			addrs = append(addrs, seed)
		}
	}
	slices.SortStableFunc(addrs, func(a, b string) int { return u.away(a) - u.away(b) })
	var errs []error
	for _, addr := range addrs {
		t, err := u.askNode(addr)
		if err == nil {
			return t, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
		if u.ending.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// away returns 1 if a node is known not to answer.
func (u *Upstream) away(addr string) int {
	if u.node(addr).awaySince.Load() != 0 {
		return 1
	}
	return 0
}

// askNode asks one node for the slots of its cluster.
func (u *Upstream) askNode(addr string) (*topology, error) {
	n := u.node(addr)
	if u.options.Address.Kind == Single {
		return single(n), nil
	}
	ctx, cancel := context.WithTimeout(u.ending, 2*u.options.Timeout)
	defer cancel()
	slots, err := ClusterSlots(ctx, n.lane(0, resp.RESP2).client, addr)
	switch {
	case err == nil:
	case isReply(err) && u.options.Address.Kind == Unknown && refusesCluster(err.Error()):
		return single(n), nil
	default:
		return nil, err
	}
	if len(slots) == 0 {
		return nil, errors.New("CLUSTERDOWN the node knows of no slots")
	}
	return u.cluster(slots), nil
}

// refusesCluster reports whether an error reply to CLUSTER SLOTS is that of a server without a
// cluster.
func refusesCluster(text string) bool {
	return strings.Contains(text, "cluster support disabled") || strings.Contains(text, "unknown command") ||
		strings.Contains(text, "unknown subcommand")
}

func single(n *node) *topology { return &topology{kind: Single, masters: []*node{n}} }

// cluster returns the topology that a node has told.
func (u *Upstream) cluster(ranges []redis.ClusterSlot) *topology {
	t := &topology{kind: Cluster, slots: new([commands.Slots]*node)}
	for _, r := range ranges {
		for i, told := range r.Nodes {
			n := u.node(told.Addr)
			if i > 0 {
				if !slices.Contains(t.replicas, n) {
					t.replicas = append(t.replicas, n)
				}
				continue
			}
			if !slices.Contains(t.masters, n) {
				t.masters = append(t.masters, n)
			}
			for slot := max(r.Start, 0); slot <= min(r.End, commands.Slots-1); slot++ {
				t.slots[slot] = n
			}
		}
	}
	slices.SortFunc(t.masters, func(a, b *node) int { return strings.Compare(a.addr, b.addr) })
	return t
}

// askSentinels asks the sentinels one after the other for the master, and that whether it is one.
func (u *Upstream) askSentinels() (*topology, error) {
	ctx, cancel := context.WithTimeout(u.ending,
		time.Duration(len(u.options.Address.Seeds)+1)*u.options.Timeout)
	defer cancel()
	var errs []error
	for _, addr := range u.options.Address.Seeds {
		o := u.clientOptions(addr)
		o.Username, o.Password = u.options.Address.SentinelUsername, u.options.Address.SentinelPassword
		o.Protocol, o.PoolSize = resp.RESP2, 1
		client := redis.NewSentinelClient(o)
		told, err := client.GetMasterAddrByName(ctx, u.options.Address.Master).Result()
		_ = client.Close()
		switch {
		case errors.Is(err, redis.Nil):
			err = fmt.Errorf("it knows no master %q", u.options.Address.Master)
		case err == nil && len(told) == 2:
			n := u.node(net.JoinHostPort(told[0], told[1]))
			if err = u.checkMaster(ctx, n); err == nil {
				t := single(n)
				t.kind = Sentinel
				return t, nil
			}
		}
		errs = append(errs, fmt.Errorf("sentinel %s: %w", addr, err))
	}
	return nil, errors.Join(errs...)
}

// checkMaster asks a node whether it is a master: for a while after a failover sentinels name the
// former one.
func (u *Upstream) checkMaster(ctx context.Context, n *node) error {
	role, err := n.lane(0, resp.RESP2).client.Do(ctx, "ROLE").Slice()
	if err != nil {
		return fmt.Errorf("%s: %w", n.addr, err)
	}
	if len(role) == 0 || role[0] != "master" {
		return fmt.Errorf("%s: it is no master", n.addr)
	}
	return nil
}
