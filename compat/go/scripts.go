package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// hashTagKey is the fifth document's key; its slot is that of the part between the braces.
const hashTagKey = "rate_limit:{user_123}:/api/login"

// millisScript is the first document's: milliseconds, no EXPIRE, strings as replies. The score goes through
// tostring and the member does not, so the two are formatted differently if an instant has more than 14
// digits.
var millisScript = redis.NewScript(`
local key, now = KEYS[1], tonumber(ARGV[1])
local window, threshold = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
if redis.call('ZCARD', key) >= threshold then
  return tostring(0)
end
redis.call('ZADD', key, tostring(now), now)
return tostring(1)
`)

// addFirstScript is the fourth document's flow as one script: it adds the hit before it counts.
var addFirstScript = redis.NewScript(`
local now, period, max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - period * 1000)
local count = redis.call('ZCARD', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if count <= max then return 1 end
return 0
`)

// secondsScript is the fifth document's: first the window, then now, in seconds; the key outlives the window
// by one second.
var secondsScript = redis.NewScript(`
local oldest = tonumber(ARGV[2]) - tonumber(ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], 0, oldest)
local held = redis.call("ZCARD", KEYS[1])
if held >= tonumber(ARGV[3]) then return 0 end
redis.call("ZADD", KEYS[1], ARGV[2], ARGV[2])
redis.call("EXPIRE", KEYS[1], ARGV[1] + 1)
return 1
`)

// scriptMillis leaves EVALSHA, NOSCRIPT and EVAL to go-redis' Script.Run; cached reports whether the script
// was cached.
func scriptMillis(c call) error {
	if err := errors.Join(c.client.Del(c.ctx, c.key).Err(), c.client.ScriptFlush(c.ctx).Err()); err != nil {
		return err
	}
	for _, instant := range c.instants {
		cached, err := millisScript.Exists(c.ctx, c.client).Result()
		if err != nil {
			return err
		}
		now := strconv.FormatInt(instant, 10)
		reply, err := millisScript.Run(c.ctx, c.client, []string{c.key}, now, "60000", "3").Result()
		if err != nil {
			return err
		}
		if err := c.printScript(instant, decide(reply, "1", "0"), "cached", cached[0]); err != nil {
			return err
		}
	}
	return nil
}

func pipelineLua(c call) error {
	if err := c.client.Del(c.ctx, c.key).Err(); err != nil {
		return err
	}
	for _, instant := range c.instants {
		reply, err := addFirstScript.Run(c.ctx, c.client, []string{c.key}, instant, 60, 5).Result()
		if err != nil {
			return err
		}
		if err := c.printScript(instant, decide(reply, int64(1), int64(0))); err != nil {
			return err
		}
	}
	return nil
}

func scriptSeconds(c call) error { return runSeconds(c, 10, 100, nil) }

// hashTag runs the same script on the document's key, whatever --key is, and prints the key's slot. A server
// that is not a cluster may refuse CLUSTER KEYSLOT; the refusal is printed, and is not a failure.
func hashTag(c call) error {
	c.key = hashTagKey
	return runSeconds(c, 10, 5, func(ctx context.Context) (string, error) {
		slot, err := c.client.ClusterKeySlot(ctx, hashTagKey).Result()
		var refused redis.Error
		if errors.As(err, &refused) {
			return "refused", nil
		}
		return strconv.FormatInt(slot, 10), err
	})
}

func runSeconds(c call, windowSeconds, maximum int64, slot func(context.Context) (string, error)) error {
	if err := c.client.Del(c.ctx, c.key).Err(); err != nil {
		return err
	}
	for _, instant := range c.instants {
		reply, err := secondsScript.Run(
			c.ctx, c.client, []string{c.key}, windowSeconds, instant/1000, maximum,
		).Result()
		if err != nil {
			return err
		}
		var details []any
		if slot != nil {
			number, err := slot(c.ctx)
			if err != nil {
				return err
			}
			details = append(details, "slot", number)
		}
		if err := c.printScript(instant, decide(reply, int64(1), int64(0)), details...); err != nil {
			return err
		}
	}
	return nil
}

func (c call) printScript(instant int64, decision string, details ...any) error {
	zcard, ttl, stateErr := c.state()
	newest, newestErr := c.newest()
	c.print(instant, decision, append(details, "zcard", zcard, "newest", newest, "ttl", ttl)...)
	return errors.Join(stateErr, newestErr)
}
