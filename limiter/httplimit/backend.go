package httplimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Backend decides requests: zlimit in this process, or a client of a server. It is called concurrently, and
// must obey ctx, which ends with the request.
type Backend interface {
	Allow(ctx context.Context, key string, q Quota) (Decision, error)
}

// A Checker is a Backend that knows which quotas it cannot decide. New asks it about Options.Quota.
type Checker interface {
	Backend
	// Check returns the error with which Allow would refuse the quota, whatever the key. It does not use the
	// network. Errors that are about anything else are ignored.
	Check(q Quota) error
}

// BackendFunc is an adapter from a function to a Backend.
type BackendFunc func(ctx context.Context, key string, q Quota) (Decision, error)

// Allow calls f.
func (f BackendFunc) Allow(ctx context.Context, key string, q Quota) (Decision, error) {
	return f(ctx, key, q)
}

// A Decision is the answer of a Backend.
type Decision struct {
	Allowed   bool
	Remaining int64 // units that still fit
	// RetryAfter is how long to wait until the same request is admitted; Never or negative: it costs more
	// than the limit.
	RetryAfter time.Duration
	// ResetAfter is how long to wait until the whole limit is available again.
	ResetAfter time.Duration
}

// Never is the RetryAfter of a request that is never admitted: the longest Duration, as in zlimit.
const Never time.Duration = math.MaxInt64

// never reports whether the request is never admitted.
func (d *Decision) never() bool { return d.RetryAfter < 0 || d.RetryAfter == Never }

// Commands is a Backend that sends RL.ALLOW through a function like the Do of Redis clients: for go-redis
//
//	func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() }
//
// zlimit.Limiter.Do is one too, but inprocess.Backend avoids a session for each request.
type Commands func(ctx context.Context, args ...any) (any, error)

// windowsBelow is what a window of RL.ALLOW is below: a hundred years.
const windowsBelow = 36_525 * 24 * time.Hour

var errCentury = fmt.Errorf("%w: Window is not below a hundred years", ErrQuota)

// Check returns an error for a quota that RL.ALLOW refuses.
func (Commands) Check(q Quota) error {
	if q.Window >= windowsBelow {
		return errCentury
	}
	return nil
}

// errReply means that the server is not zlimit.
var errReply = errors.New("httplimit: RL.ALLOW did not answer five integers")

// Allow sends one RL.ALLOW.
func (do Commands) Allow(ctx context.Context, key string, q Quota) (Decision, error) {
	reply, err := do(ctx, "RL.ALLOW", key, q.Limit, q.Window.Milliseconds(), "COST", max(q.Cost, 1))
	if err != nil {
		return Decision{}, err
	}
	values, _ := reply.([]any)
	if len(values) != 5 {
		return Decision{}, fmt.Errorf("%w: %v", errReply, reply)
	}
	var numbers [5]int64
	for i, v := range values {
		n, ok := v.(int64)
		if !ok {
			return Decision{}, fmt.Errorf("%w: %v", errReply, reply)
		}
		numbers[i] = n
	}
	d := Decision{
		Allowed: numbers[0] > 0, Remaining: numbers[2],
		RetryAfter: Never, ResetAfter: milliseconds(numbers[4]),
	}
	if numbers[3] >= 0 {
		d.RetryAfter = milliseconds(numbers[3])
	}
	return d, nil
}

// milliseconds converts a wait from a server to a Duration below Never.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
