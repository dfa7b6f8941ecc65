package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// nodesOfCluster is how many masters the gateway's rows have. They share the servers' core with the gateway:
// figures are processor time, not throughput.
const nodesOfCluster = 3

// A route is a way to a decision that keys of a cluster, or of one server, make.
type route struct {
	name     string
	flow     flow
	keys     uint64
	quota    quota
	pipeline int
	direct   bool // a client for clusters asks the nodes
	alone    bool // one server of ours has the keys
	// floor is the least ratio: of round trips, as a multiple of the row's floor, or of the processor time
	// that the route saves. If it is 0, the row compares what the route costs.
	floor float64
}

// A cost is what a decision has cost in a round.
type cost struct {
	gateway, nodes, client float64 // processor time in microseconds
	trips                  float64 // round trips between the gateway and the nodes
	perSecond              float64
}

// routes returns the ways to compare. The first is what all others are compared with.
func routes() []route {
	const keys = 10_000
	hot := quota{limit: 1_000_000, windowMs: 60_000}
	return []route{
		{name: "allow", flow: rlAllow, keys: keys, quota: perMinute, pipeline: 1, floor: 1},
		{name: "allow-16", flow: rlAllow, keys: keys, quota: perMinute, pipeline: 16, floor: 10},
		{name: "script", flow: evalsha, keys: keys, quota: perMinute, pipeline: 1},
		{name: "script-16", flow: evalsha, keys: keys, quota: perMinute, pipeline: 16},
		{name: "direct", flow: evalsha, keys: keys, quota: perMinute, pipeline: 1, direct: true},
		{name: "direct-16", flow: evalsha, keys: keys, quota: perMinute, pipeline: 16, direct: true},
		{name: "alone", flow: rlAllow, keys: keys, quota: perMinute, pipeline: 1, alone: true},
		{name: "alone-16", flow: rlAllow, keys: keys, quota: perMinute, pipeline: 16, alone: true},
		{name: "hot", flow: rlAllow, keys: 1, quota: hot, pipeline: 1, floor: 1.2},
	}
}

// overCluster measures what a decision costs a gateway and the nodes behind it, by each route.
func overCluster(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	nodes, err := b.startNodes(ctx)
	defer func() {
		for _, n := range nodes {
			n.stop()
		}
	}()
	if err != nil {
		return nil, err
	}
	ways, rounds := routes(), b.rounds
	if b.quick { // round trips, of which one round has enough
		ways, rounds = ways[:2], 1
	}
	all := make([][]cost, len(ways))
	for range rounds { // alternating, so that a busy moment is not all of one route
		for _, i := range b.shuffle.Perm(len(ways)) {
			c, err := b.take(ctx, ways[i], nodes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			all[i] = append(all[i], c)
		}
	}
	results := make([]result, len(ways))
	first := map[int][]cost{} // by pipeline
	for i, way := range ways {
		of := func(get func(c cost) float64) float64 { return median(seriesOf(way.name, all[i], get).values) }
		say("%s: a decision takes %.2f us of the gateway, %.2f us of the nodes, %.2f us of the client, "+
			"%.2f round trips; %.0f/s", way.name, of(func(c cost) float64 { return c.gateway }),
			of(func(c cost) float64 { return c.nodes }), of(func(c cost) float64 { return c.client }),
			of(cost.roundTrips), of(func(c cost) float64 { return c.perSecond }))
		if first[way.pipeline] == nil {
			first[way.pipeline] = all[i]
			name := fmt.Sprintf("%s-trips-%d", r.name, way.pipeline)
			results[i] = weigh(name, "round trips of "+r.about, "", way.floor*b.floor(r.floor),
				seriesOf(way.name, all[i], cost.roundTrips),
				series{"one for each", slices.Repeat([]float64{1}, rounds)})
			continue
		}
		results[i] = way.compared(r, first[way.pipeline], all[i])
	}
	return results, nil
}

func (c cost) roundTrips() float64 { return c.trips }

// servers returns the processor time that a decision takes of gateway and nodes.
func (c cost) servers() float64 { return c.gateway + c.nodes }

// compared compares what a decision costs by this route and by the first one.
func (w route) compared(r row, first, costs []cost) result {
	ours, other := seriesOf("allow", first, cost.servers), seriesOf(w.name, costs, cost.servers)
	if w.floor > 0 { // the route saves processor time
		ours, other = other, ours
	}
	return weigh(r.name+"-"+w.name, "processor time of "+r.about, "us", w.floor, ours, other)
}

// startNodes starts masters that share the slots. It returns those that it has started also with an error.
func (b *bench) startNodes(ctx context.Context) (nodes []*serverProcess, err error) {
	create := []string{"--cluster", "create"}
	for range nodesOfCluster {
		bus, err := freePort()
		if err != nil {
			return nodes, err
		}
		n, err := b.start(ctx, contender{program: redisServer, flags: []string{
			"--cluster-enabled", "yes", "--cluster-config-file", bus + ".conf", "--cluster-port", bus,
		}})
		if err != nil {
			return nodes, err
		}
		nodes, create = append(nodes, n), append(create, n.address)
	}
	out, err := exec.CommandContext(ctx, "redis-cli", append(create, "--cluster-yes")...).CombinedOutput()
	if err != nil {
		return nodes, fmt.Errorf("redis-cli: %w\n%s", err, out)
	}
	for begin := time.Now(); time.Since(begin) < ioTimeout; {
		info, err := nodes[0].ask("CLUSTER", "INFO")
		if err != nil || strings.Contains(info, "cluster_state:ok") {
			return nodes, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nodes, err
		}
	}
	return nodes, fmt.Errorf("%w: the cluster is not ready", errNoAnswer)
}

// take makes decisions for a round by a route, beginning with no keys.
func (b *bench) take(ctx context.Context, way route, nodes []*serverProcess) (cost, error) {
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.address)
		err := errors.Join(n.command("OK", "FLUSHALL"), n.command(shaOf(script), "SCRIPT", "LOAD", script))
		if err != nil {
			return cost{}, err
		}
	}
	var front *serverProcess
	if !way.direct {
		var flags []string
		if !way.alone {
			flags = []string{"--upstream", "redis://" + strings.Join(addrs, ",")}
		}
		var err error
		front, err = b.start(ctx, contender{program: ourServer, name: way.name, flags: flags})
		if err != nil {
			return cost{}, err
		}
		defer front.stop()
		if err := front.command(shaOf(script), "SCRIPT", "LOAD", script); err != nil {
			return cost{}, err
		}
	}
	keys := uniform(way.keys, 0)
	if way.quota == perMinute {
		keys.perGeneration = int64(way.keys) * way.quota.limit / 2
	}
	run := func(length time.Duration) (flows int64, took time.Duration, err error) {
		if way.direct {
			return askNodes(ctx, addrs, way, keys, length)
		}
		l := &load{
			address: front.address, flow: way.flow, pipeline: way.pipeline, connections: 50, keys: keys,
			quota: way.quota, duration: length,
		}
		t, err := l.run(ctx)
		if err != nil {
			return 0, 0, err
		}
		return t.all, t.whole, nil
	}
	_, _, warmErr := run(firstWarm)
	before, beforeErr := b.meter(front, way, nodes)
	flows, took, err := run(b.length)
	after, afterErr := b.meter(front, way, nodes)
	if err := errors.Join(warmErr, beforeErr, err, afterErr); err != nil {
		return cost{}, err
	}
	n := float64(flows)
	return cost{
		gateway: (after.gateway - before.gateway) / n, nodes: (after.nodes - before.nodes) / n,
		client: (after.client - before.client) / n, trips: (after.trips - before.trips) / n,
		perSecond: n / took.Seconds(),
	}, nil
}

// meter returns what everybody has used so far: a cost that is no one decision's.
func (b *bench) meter(front *serverProcess, way route, nodes []*serverProcess) (c cost, err error) {
	us := func(pid int) float64 {
		use, readErr := readProcess(pid)
		err = errors.Join(err, readErr)
		return float64(use.cpu.Microseconds())
	}
	for _, n := range nodes {
		c.nodes += us(n.pid)
	}
	c.client = us(os.Getpid())
	if front != nil {
		c.gateway = us(front.pid)
	}
	if front == nil || way.alone || err != nil {
		return c, err
	}
	info, err := front.ask("INFO", "upstream")
	if err != nil {
		return c, err
	}
	_, rest, _ := strings.Cut(info, "upstream_round_trips:")
	text, _, _ := strings.Cut(rest, "\r\n")
	c.trips, err = strconv.ParseFloat(text, 64)
	return c, err
}

// askNodes asks by a client for clusters, from as many goroutines as the other loads have connections.
func askNodes(
	ctx context.Context, addrs []string, way route, keys *picker, length time.Duration,
) (flows int64, took time.Duration, err error) {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, PoolSize: 50})
	defer func() { err = errors.Join(err, c.Close()) }()
	var (
		running sync.WaitGroup
		mu      sync.Mutex // protects keys
		done    atomic.Int64
		failed  atomic.Pointer[error]
		begin   = time.Now()
	)
	next := func() string {
		mu.Lock()
		defer mu.Unlock()
		generation, number := keys.next()
		return fmt.Sprintf("%s%05d:%07d", keyPrefix, generation, number)
	}
	sha := shaOf(script)
	for range 50 {
		running.Go(func() {
			for time.Since(begin) < length && failed.Load() == nil {
				p := c.Pipeline()
				for range way.pipeline {
					p.EvalSha(ctx, sha, []string{next()},
						time.Now().UnixMilli(), way.quota.windowMs, way.quota.limit)
				}
				if _, err := p.Exec(ctx); err != nil {
					failed.Store(&err)
				}
				done.Add(int64(way.pipeline))
			}
		})
	}
	running.Wait()
	took = time.Since(begin)
	if e := failed.Load(); e != nil {
		err = *e
	}
	return done.Load(), took, err
}
