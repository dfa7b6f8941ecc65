-- FIXED: a string, the number of units, that expires at the end of the window.

local function read_fixed(key, text)
  local count = integer(text)
  if not count or count < 0 or expiry(key) < 1 then
    return nil
  end
  return count, is_large(count)
end

local function fixed_used(s, now) return now < s.expire and s.count or 0 end

local function fixed_decide(s, now, cost, flags)
  local used, reset, ends = fixed_used(s, now), 0, floor_to(now, s.window) + s.window
  if used > 0 then
    reset, ends = s.expire - now, max(ends, s.expire)
  end
  local allowed, remaining, retry, leave = measure(s.limit, used, cost, flags)
  if leave > 0 then
    retry = reset
  end
  if allowed > 0 and not has(flags, PEEK) then
    used, remaining, reset = used + allowed, remaining - allowed, ends - now
    s.count, s.expire, s.changed = used, ends, true
  end
  local next_after = s.limit > 0 and reset or 0
  return { allowed, s.limit, remaining, retry, reset, next_after, used, s.window }
end

-- key; limit, window, then cost, options for each caller.
local function allow_fixed(keys, args)
  local now = now_ms()
  local count, expire, refusal = string_state(keys[1], read_fixed)
  if refusal then
    return refusal
  end
  local s = { count = count or 0, expire = expire, limit = tonumber(args[1]), window = tonumber(args[2]) }
  local reply = callers(args, 3, fixed_decide, s, now)
  if s.changed then
    call('SET', keys[1], format('%.0f', s.count), 'PXAT', s.expire)
  end
  return reply
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_fixed, name = 'fixed', allow = allow_fixed,
  refund = function(key, now, n, count)
    if now >= expiry(key) then
      return { 0 }
    end
    n = min(n, count)
    if n == count and n > 0 then
      call('DEL', key)
    elseif n > 0 then
      call('SET', key, format('%.0f', count - n), 'KEEPTTL')
    end
    return { n }
  end,
  info = function(key, now, count)
    return { fixed_used({ count = count, expire = expiry(key) }, now), false, false }
  end,
}
