package migration

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A document is a limiter as the documents show it: it decides whether key may have one
// more unit, named member, at an instant of its own clock.
type document func(ctx context.Context, c *redis.Client, r request) (allowed bool, err error)

// A request is what a document's limiter is asked.
type request struct {
	key, member     string
	nowMs, windowMs int64
	limit           int64
}

// expiry is the time to live of its keys, a second more than the window.
func (r request) expiry() time.Duration {
	return time.Duration(r.windowMs)*time.Millisecond + time.Second
}

func (r request) oldest() string { return strconv.FormatInt(r.nowMs-r.windowMs, 10) }

func (r request) unit() redis.Z { return redis.Z{Score: float64(r.nowMs), Member: r.member} }

// byCommands sends one command after the other.
func byCommands(ctx context.Context, c *redis.Client, r request) (bool, error) {
	if err := c.ZRemRangeByScore(ctx, r.key, "0", r.oldest()).Err(); err != nil {
		return false, err
	}
	if n, err := c.ZCard(ctx, r.key).Result(); err != nil || n >= r.limit {
		return false, err
	}
	if err := c.ZAdd(ctx, r.key, r.unit()).Err(); err != nil {
		return false, err
	}
	return true, c.Expire(ctx, r.key, r.expiry()).Err()
}

// byPipeline adds the unit before it counts, in MULTI. A denied unit stays in the set.
func byPipeline(ctx context.Context, c *redis.Client, r request) (bool, error) {
	p := c.TxPipeline()
	p.ZAdd(ctx, r.key, r.unit())
	p.ZRemRangeByScore(ctx, r.key, "0", r.oldest())
	count := p.ZCard(ctx, r.key)
	p.Expire(ctx, r.key, r.expiry())
	_, err := p.Exec(ctx)
	return err == nil && count.Val() <= r.limit, err
}

// bySlices counts in keys of their own for each slice of time.
func bySlices(ctx context.Context, c *redis.Client, r request) (bool, error) {
	key := fmt.Sprintf("%s:%d", r.key, r.nowMs/r.windowMs)
	n, err := c.Incr(ctx, key).Result()
	if err != nil {
		return false, err
	}
	if n == 1 {
		err = c.Expire(ctx, key, r.expiry()).Err()
	}
	return n <= r.limit, err
}

// withoutExpiry has no EXPIRE and answers by strings.
var withoutExpiry = byScript(`
local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return tostring(0) end
redis.call('ZADD', KEYS[1], now, ARGV[4])
return tostring(1)`)

var withExpiry = byScript(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[2] / 1000 + 1)
return 1`)

// addingFirst is byPipeline as a script.
var addingFirst = byScript(`
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
local count = redis.call('ZCARD', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2] / 1000 + 1)
if count <= tonumber(ARGV[3]) then return 1 end
return 0`)

// byScript sends EVALSHA, and EVAL where the server does not know the script.
func byScript(source string) document {
	script := redis.NewScript(source)
	return func(ctx context.Context, c *redis.Client, r request) (bool, error) {
		reply, err := script.Run(ctx, c, []string{r.key}, r.nowMs, r.windowMs, r.limit, r.member).Result()
		return fmt.Sprint(reply) == "1", err
	}
}
