redis.replicate_commands()
local tokens_key, time_key = KEYS[1], KEYS[2]
local rate, capacity, now, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if now == nil then
  now = redis.call('TIME')[1]
end
local ttl = math.floor(capacity / rate * 2)
local tokens = tonumber(redis.call('GET', tokens_key))
if tokens == nil then tokens = capacity end
local last = tonumber(redis.call('GET', time_key))
if last == nil then last = 0 end
local filled = math.min(capacity, tokens + math.max(0, now - last) * rate)
local allowed = filled >= wanted
local left, granted = filled, 0
if allowed then
  left = filled - wanted
  granted = 1
end
if ttl > 0 then
  redis.call('SETEX', tokens_key, ttl, left)
  redis.call('SETEX', time_key, ttl, now)
end
return {granted, left}
