package httplimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Backend decides about one request: zlimit inside this process, or a client
// of a server elsewhere. It is called concurrently, and has to obey ctx, which
// ends with the request.
type Backend interface {
	Allow(ctx context.Context, key string, q Quota) (Decision, error)
}

// BackendFunc is a function as a Backend.
type BackendFunc func(ctx context.Context, key string, q Quota) (Decision, error)

// Allow calls f.
func (f BackendFunc) Allow(ctx context.Context, key string, q Quota) (Decision, error) {
	return f(ctx, key, q)
}

// A Decision is what a Backend answers.
type Decision struct {
	Allowed   bool
	Remaining int64 // units that still fit
	// RetryAfter is the wait after which the same request is admitted; Never or
	// negative: it never is, because it costs more than the limit.
	RetryAfter time.Duration
	// ResetAfter is the wait after which the whole limit is free again.
	ResetAfter time.Duration
}

// Never is the RetryAfter of a request that no waiting helps: the longest
// Duration, as in zlimit.
const Never time.Duration = math.MaxInt64

// never reports whether no waiting helps.
func (d *Decision) never() bool { return d.RetryAfter < 0 || d.RetryAfter == Never }

// Commands is the Backend that sends RL.ALLOW through do, which every client of
// Redis has in some form: for go-redis
//
//	func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() }
//
// and zlimit.Limiter.Do as it stands, though inprocess.Backend does without a
// session for each request.
type Commands func(ctx context.Context, args ...any) (any, error)

// errReply is what a server answers that is not zlimit.
var errReply = errors.New("httplimit: RL.ALLOW did not answer five integers")

// Allow sends one RL.ALLOW.
func (do Commands) Allow(ctx context.Context, key string, q Quota) (Decision, error) {
	reply, err := do(ctx, "RL.ALLOW", key, q.Limit, q.Window.Milliseconds(), "COST", q.Cost)
	if err != nil {
		return Decision{}, err
	}
	values, _ := reply.([]any)
	if len(values) != 5 {
		return Decision{}, fmt.Errorf("%w: %v", errReply, reply)
	}
	var five [5]int64
	for i, v := range values {
		n, ok := v.(int64)
		if !ok {
			return Decision{}, fmt.Errorf("%w: %v", errReply, reply)
		}
		five[i] = n
	}
	d := Decision{
		Allowed: five[0] > 0, Remaining: five[2],
		RetryAfter: Never, ResetAfter: milliseconds(five[4]),
	}
	if five[3] >= 0 {
		d.RetryAfter = milliseconds(five[3])
	}
	return d, nil
}

// milliseconds is a wait that a server names, below Never whatever it says.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
