local now, most, expiry, amount = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if amount > most then return false end
local oldest = redis.call('LINDEX', KEYS[1], most - amount)
if oldest and tonumber(oldest) >= now - expiry then
  return false
end
local entries = {}
for i = 1, amount do entries[i] = ARGV[1] end
for i = 1, #entries, 5000 do
  redis.call('LPUSH', KEYS[1], unpack(entries, i, math.min(i + 4999, #entries)))
end
redis.call('LTRIM', KEYS[1], 0, most - 1)
redis.call('EXPIRE', KEYS[1], expiry)
return true
