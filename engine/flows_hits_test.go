package engine_test

import "fmt"

const taggedKey = "rate_limit:{user_123}:/api/login"

func templateHit(c *flowClient, nowMs int64, member string) rune {
	c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
	if c.integer("ZCARD", flowKey) >= 3 {
		return '-'
	}
	c.do("ZADD", flowKey, ms(nowMs), member)
	c.do("PEXPIRE", flowKey, "60000")
	return '+'
}

func counterHit(c *flowClient, nowMs int64) {
	c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
	c.do("ZADD", flowKey, ms(nowMs), fmt.Sprint(nowMs, "_", c.serial))
	c.do("PEXPIRE", flowKey, "60000")
	c.serial++
}

func hitFirst(c *flowClient, nowMs int64) rune {
	c.do("MULTI")
	c.do("ZADD", flowKey, ms(nowMs), ms(nowMs))
	c.do("ZREMRANGEBYSCORE", flowKey, "0", ms(nowMs-60_000))
	c.do("ZCARD", flowKey)
	c.do("EXPIRE", flowKey, "60")
	replies, err := numbers(c.do("EXEC"))
	if err != nil || len(replies) != 4 {
		return '!'
	}
	return decision(replies[2] <= 5)
}

func slice(c *flowClient, nowMs int64) rune {
	key := fmt.Sprint(flowKey, ":", nowMs/5000)
	count := c.integer("INCRBY", key, "1")
	if count == 1 {
		c.do("EXPIRE", key, "6")
	}
	return decision(count <= 10)
}

// sliceKeys are the keys of slices counted from startNowMs.
func sliceKeys(slices ...int64) (keys []string) {
	for _, n := range slices {
		keys = append(keys, fmt.Sprint(flowKey, ":", startNowMs/5000+n))
	}
	return keys
}

// The documents' scripts. The model has its own idea of what they do.
const (
	millisScript = `
local now, window, threshold = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local used = redis.call('ZCARD', KEYS[1])
if used >= threshold then
  return tostring(0)
end
redis.call('ZADD', KEYS[1], tostring(now), now)
return tostring(1)`

	hitFirstScript = `
local now, period, max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - period * 1000)
local count = redis.call('ZCARD', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if count <= max then return 1 end
return 0`

	secondsScript = `
local oldest = tonumber(ARGV[2]) - tonumber(ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], 0, oldest)
if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call("ZADD", KEYS[1], ARGV[2], ARGV[2])
redis.call("EXPIRE", KEYS[1], ARGV[1] + 1)
return 1`
)
