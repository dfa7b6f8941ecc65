// Package inprocess is httplimit's Backend for a Limiter in the same process.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package inprocess

import (
	"context"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/limiter/httplimit"
)

// Backend returns a Backend that calls Allow. It opens no session for a request, and does not allocate for an
// existing key.
func Backend(limits *zlimit.Limiter) httplimit.Backend { return backend{limits} }

type backend struct{ limits *zlimit.Limiter }

// Allow waits for the disk only, under appendfsync always, and until ctx is done.
func (b backend) Allow(ctx context.Context, key string, q httplimit.Quota) (httplimit.Decision, error) {
	d, err := b.limits.Allow(ctx, key, zlimit.Quota{Limit: q.Limit, Window: q.Window}, max(q.Cost, 1))
	return httplimit.Decision{
		Allowed: d.OK(), Remaining: d.Remaining,
		RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter,
	}, err
}

// Check asks the Limiter, which counts no decision for it.
func (b backend) Check(q httplimit.Quota) error {
	_, err := b.limits.Do(context.Background(), "RL.EXPLAIN", "", q.Limit, q.Window, "COST", max(q.Cost, 1))
	return err
}
