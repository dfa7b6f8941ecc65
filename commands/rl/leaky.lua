-- LEAKY: a string, "leaky " and the unix microsecond at which the bucket is empty. The bucket
-- is GCRA with a burst of the limit.

local function read_leaky(_, text)
  local digits = match(text, '^leaky (.*)$')
  local empty = digits and integer(digits)
  if not empty then
    return nil
  end
  return empty, is_large(empty)
end

-- key; microseconds between two units, limit, then cost, options for each caller. The
-- decisions have no limit and no window.
local function allow_leaky(keys, args)
  local now = now_ms()
  local empty, expire, refusal = string_state(keys[1], read_leaky)
  if refusal then
    return refusal
  end
  local s = { tat = empty or 0, expire = expire, interval = tonumber(args[1]), burst = tonumber(args[2]) }
  local reply = callers(args, 3, gcra_decide, s, now)
  if s.changed then
    call('SET', keys[1], 'leaky ' .. format('%.0f', s.tat), 'PXAT', s.expire)
  end
  return reply
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_leaky, name = 'leaky', allow = allow_leaky,
  any_size = true, -- info returns the text
  info = function(key) return { false, false, false, match(call('GET', key), '^leaky (.*)$') } end,
}
