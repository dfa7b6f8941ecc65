package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// limitFlow runs RL commands, which redis-server does not have: what it says is below.
const limitFlow = "rl"

// limitHits are the lines of limitFlow, in every language.
var limitHits = []string{
	"1 allowed remaining=1",
	"2 allowed remaining=0",
	"3 denied remaining=0",
	"4 allowed remaining=2",
	"5 denied remaining=2",
	"6 settled units=3",
	"7 allowed remaining=0",
}

// limitRow compares what a client printed of limitFlow on our server with limitHits.
func limitRow(c client, ours outcome) row {
	want := outcome{transcript: transcript{sections: []section{{flow: limitFlow, complete: true}}}}
	for _, line := range limitHits {
		h, err := parseHit(line)
		want.err = errors.Join(want.err, err)
		want.transcript.sections[0].hits = append(want.transcript.sections[0].hits, h)
	}
	return flowRow(limitFlow, c.label(ours.transcript.client), ours, want)
}

// announce has the node at a port tell clients its address, or, as by default, none: they then use the one
// that they have connected to.
func announce(port int, address bool) error {
	ip := `""`
	if address {
		ip = "127.0.0.1"
	}
	reply, err := (&server{port: port}).ask("CONFIG SET cluster-announce-ip " + ip)
	if err == nil && reply != "+OK" {
		err = fmt.Errorf("CONFIG SET cluster-announce-ip %s: %s", ip, reply)
	}
	return err
}

// startCluster runs redis-server as a cluster of one node that owns every slot. Only
// then does Redis answer CLUSTER KEYSLOT and also accept commands on keys.
func startCluster(ctx context.Context) (*held, error) {
	bus, err := freePort()
	if err != nil {
		return nil, err
	}
	h, r, err := startOracle("--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus))
	if err != nil {
		return nil, err
	}
	if err := assignSlots(ctx, h.port, r.SetClock); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

// assignSlots assigns every slot to the node. The node accepts writes two seconds later
// by its clock, which therefore has to move.
func assignSlots(ctx context.Context, port int, setClock func(nowMs int64) error) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	s := &server{port: port}
	if reply, err := s.ask("CLUSTER ADDSLOTSRANGE 0 16383"); err != nil || reply != "+OK" {
		return errors.Join(fmt.Errorf("redis-server did not accept the slots: %q", reply), err)
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for nowMs := int64(heldStartMs); ; nowMs += 500 {
		if err := setClock(nowMs); err != nil {
			return err
		}
		if reply, err := s.ask("CLUSTER INFO"); err == nil && strings.Contains(reply, "cluster_state:ok") {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("redis-server's cluster is not ready: %w", ctx.Err())
		}
	}
}
