package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zlimit/zlimit/oracle"
)

// masters is the number of nodes of a held cluster.
const masters = 3

// startGateway runs path in folder as a gateway over a cluster of redis-servers, whose clocks stand still
// together.
func startGateway(ctx context.Context, path, folder string, flags ...string) (_ *held, err error) {
	nodes, err := startNodes(ctx)
	stopNodes := func() error {
		var errs []error
		for _, n := range nodes {
			errs = append(errs, n.Close())
		}
		return errors.Join(errs...)
	}
	if err != nil {
		return nil, errors.Join(err, stopNodes())
	}
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr())
	}
	flags = append([]string{"--upstream", "redis://" + strings.Join(addrs, ",")}, flags...)
	s, err := start(ctx, path, folder, flags...)
	if err != nil {
		return nil, errors.Join(err, stopNodes())
	}
	set := func(nowMs int64) error { return setClocks(nodes, nowMs) }
	return newHeld(s.port, set, s.lost, func() error { return errors.Join(s.stop(), stopNodes()) })
}

func setClocks(nodes []*oracle.Redis, nowMs int64) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.SetClock(nowMs))
	}
	return errors.Join(errs...)
}

// startNodes starts masters that share the slots. Their clock is at heldStartMs when it returns. It returns
// those that it has started also with an error.
func startNodes(ctx context.Context) (nodes []*oracle.Redis, err error) {
	// Nodes that know each other for less than two seconds serve nothing, and nodes whose clocks jump take
	// each other for dead unless they wait for weeks.
	const settling, patience = 20_000, "2000000000"
	firstBus := 0
	for i := range masters {
		bus, err := freePort()
		if err != nil {
			return nodes, err
		}
		if i == 0 {
			firstBus = bus
		}
		n, err := oracle.Start(oracle.Options{NowMs: heldStartMs - settling, Args: []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", patience,
			"--cluster-require-full-coverage", "no",
		}})
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, n)
		const slots = 16384
		commands := []string{
			fmt.Sprint("CLUSTER SET-CONFIG-EPOCH ", i+1),
			fmt.Sprint("CLUSTER ADDSLOTSRANGE ", i*slots/masters, " ", (i+1)*slots/masters-1),
		}
		if i > 0 {
			at := strings.Replace(nodes[0].Addr(), ":", " ", 1)
			commands = append(commands, fmt.Sprint("CLUSTER MEET ", at, " ", firstBus))
		}
		s, err := serverAt(n.Addr())
		if err != nil {
			return nodes, err
		}
		for _, command := range commands {
			if reply, err := s.ask(command); err != nil || reply != "+OK" {
				return nodes, errors.Join(fmt.Errorf("%s: %q", command, reply), err)
			}
		}
	}
	for nowMs := int64(heldStartMs - settling); nowMs <= heldStartMs; nowMs += 500 {
		if err := setClocks(nodes, nowMs); err != nil {
			return nodes, err
		}
		if err := awaitAcquainted(ctx, nodes, nowMs == heldStartMs); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

func serverAt(addr string) (*server, error) {
	_, text, _ := strings.Cut(addr, ":")
	port, err := strconv.Atoi(text)
	return &server{port: port}, err
}

// awaitAcquainted waits until every node knows all slots and, if they are to be, is ready.
func awaitAcquainted(ctx context.Context, nodes []*oracle.Redis, ready bool) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for _, n := range nodes {
		s, err := serverAt(n.Addr())
		if err != nil {
			return err
		}
		for {
			reply, err := s.ask("CLUSTER INFO")
			if err != nil {
				return err
			}
			known := strings.Contains(reply, "cluster_slots_assigned:16384")
			if known && (!ready || strings.Contains(reply, "cluster_state:ok")) {
				break
			}
			select {
			case <-poll.C:
			case <-ctx.Done():
				return fmt.Errorf("the cluster is not ready: %w\n%s", ctx.Err(), reply)
			}
		}
	}
	return nil
}
