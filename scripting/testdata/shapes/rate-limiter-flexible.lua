redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left == -1 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  left = ARGV[2] * 1000
end
return {used, left}
