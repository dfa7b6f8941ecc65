redis.replicate_commands()
local burst, rate, period, cost = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local every = period / rate
local tolerance = every * burst
local t = redis.call('TIME')
local now = (t[1] - 1700000000) + t[2] / 1000000
local tat = redis.call('GET', KEYS[1])
if not tat then tat = now else tat = tonumber(tat) end
tat = math.max(tat, now)
local new = tat + every * cost
local left = (now - (new - tolerance)) / every
if left < 0 then
  return {0, 0, tostring((new - tolerance) - now), tostring(tat - now)}
end
local reset = new - now
if reset > 0 then
  redis.call('SET', KEYS[1], new, 'EX', math.ceil(reset))
end
return {cost, left, tostring(-1), tostring(reset)}
