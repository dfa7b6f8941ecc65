// Package window is a rate limiter as a program might have it: a sliding window in Redis that uses the
// server's time. The tests in the folders before and after use it.
package window

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Limiter admits Limit hits a key in any Window.
type Limiter struct {
	Client redis.UniversalClient
	Limit  int
	Window time.Duration
}

// A hit is a member of a sorted set, its score the microsecond at which it came.
var script = redis.NewScript(`
local now = redis.call('TIME')
local us = now[1] * 1000000 + now[2]
local window = tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', us - window * 1000)
local held = redis.call('ZCARD', KEYS[1])
if held >= tonumber(ARGV[2]) then
	return 0
end
redis.call('ZADD', KEYS[1], us, us .. '-' .. held)
redis.call('PEXPIRE', KEYS[1], window)
redis.call('INCR', 'admitted')
return 1
`)

// Allow reports whether a hit is admitted. Without a server all hits are admitted.
func (l *Limiter) Allow(ctx context.Context, key string) (bool, error) {
	n, err := script.Run(ctx, l.Client, []string{"window:" + key}, l.Window.Milliseconds(), l.Limit).Int()
	return n == 1 || err != nil, err
}
