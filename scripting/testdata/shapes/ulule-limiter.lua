local key, add, life = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local sum = redis.call('INCRBY', key, ARGV[1])
if sum == add then
  if life > 0 then redis.call('PEXPIRE', key, ARGV[2]) end
  return {sum, life}
end
return {sum, redis.call('PTTL', key)}
