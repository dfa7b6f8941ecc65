package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
