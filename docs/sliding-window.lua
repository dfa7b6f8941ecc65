-- A sliding window in one script: at most ARGV[3] hits in the last ARGV[2]
-- milliseconds. The caller brings the time, ARGV[1], in unix milliseconds.
local key = KEYS[1]
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
if redis.call('ZCARD', key) >= limit then
  return tostring(0)
end
redis.call('ZADD', key, tostring(now), now)
return tostring(1)
