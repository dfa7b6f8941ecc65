local key, window, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local prolong, backoff = ARGV[3] == 'true', ARGV[4] == 'true'
local n = redis.call('INCR', key)
if n == 1 or (prolong and n > most) then
  redis.call('PEXPIRE', key, window)
elseif backoff and n > most then
  window = math.min(window * 2 ^ (n - most - 1), 9007199254740991)
  redis.call('PEXPIRE', key, window)
else
  window = redis.call('PTTL', key)
end
return {n, window}
