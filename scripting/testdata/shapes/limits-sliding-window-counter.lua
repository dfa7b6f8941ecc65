local most, expiry, amount = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local before, during = tonumber(redis.call('GET', KEYS[2]) or 0), tonumber(redis.call('GET', KEYS[1]) or 0)
local left = redis.call('PTTL', KEYS[2])
local weighed = math.floor(before * math.max(0, left) / (expiry * 1000)) + during
if weighed + amount > most then return false end
during = redis.call('INCRBY', KEYS[1], amount)
if during == amount then
  redis.call('EXPIRE', KEYS[1], expiry * 2)
end
return true
