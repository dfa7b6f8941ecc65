local settings = KEYS[1]
local refill = function(now)
  local at = tonumber(redis.call('HGET', settings, 'nextReset'))
  if at and now >= at then
    redis.call('HSET', settings, 'nextReset', now + 1000)
  end
end
refill(tonumber(ARGV[1]))
return redis.call('HGET', settings, 'running')
