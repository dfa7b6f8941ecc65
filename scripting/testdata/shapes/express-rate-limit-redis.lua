local window = tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then
  redis.call('SET', KEYS[1], 1, 'PX', window)
  return {1, window}
end
local hits = redis.call('INCR', KEYS[1])
if ARGV[1] == '1' then
  redis.call('PEXPIRE', KEYS[1], window)
  left = window
end
return {hits, left}
