local function positive(value, name)
  if type(value) ~= 'number' or value <= 0 then
    error(string.format('%s must be positive, got %s', name, tostring(value)), 0)
  end
  return value
end

local function parse(text)
  local quota = cjson.decode(text)
  return positive(quota[1], 'window'), positive(quota[2], 'limit')
end

local function admit(key, now, window, limit)
  redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
  if redis.call('ZCARD', key) >= limit then
    return 0
  end
  redis.call('ZADD', key, now, string.format('%d', now))
  return 1
end

local ok, window, limit = pcall(parse, ARGV[2])
if not ok then
  return redis.error_reply('ERR ' .. window)
end
local now = tonumber(string.match(ARGV[1], '^%d+$'))
return string.format('%d', admit(KEYS[1], positive(now, 'now'), window, limit))
