local found = redis.call('GET', KEYS[1])
if found == false then
  return redis.error_reply('no such key')
end
if found ~= ARGV[1] then
  return 0
end
redis.call('SETEX', KEYS[1], ARGV[3], ARGV[2])
return 1
