local rate, interval = redis.call('HGET', KEYS[1], 'rate'), redis.call('HGET', KEYS[1], 'interval')
assert(rate ~= false and interval ~= false, 'no such limiter')
local due = redis.call('ZRANGEBYSCORE', KEYS[2], 0, tonumber(ARGV[2]) - interval)
local freed = 0
for i, entry in ipairs(due) do
  local id, permits = struct.unpack('Bc0I', entry)
  freed = freed + permits
end
if freed > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, tonumber(ARGV[2]) - interval)
end
redis.call('ZADD', KEYS[2], ARGV[2], struct.pack('Bc0I', #ARGV[3], ARGV[3], ARGV[1]))
return nil
