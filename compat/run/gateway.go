package main

import (
	"context"
	"errors"
	"strings"

	"github.com/zlimit/zlimit/oracle"
)

// startGateway runs path in folder as a gateway over a cluster of three redis-servers, whose clocks stand
// still together.
func startGateway(ctx context.Context, path, folder string, flags ...string) (*held, error) {
	c, err := oracle.StartCluster(oracle.Options{NowMs: heldStartMs}, 3)
	if err != nil {
		return nil, err
	}
	flags = append([]string{"--upstream", "redis://" + strings.Join(c.Addrs(), ",")}, flags...)
	s, err := start(ctx, path, folder, flags...)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return newHeld(s.port, c.SetClock, s.lost, func() error { return errors.Join(s.stop(), c.Close()) })
}
