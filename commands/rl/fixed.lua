-- FIXED: a string, the number of units, that expires at the end of the window. A window of the calendar is the
-- two ends of the slice in which the caller takes now to be, since there are no zones here.

local function read_fixed(key, text)
  local count = integer(text)
  if not count or count < 0 or expiry(key) < 1 then
    return nil
  end
  return count, is_large(count)
end

local function fixed_used(s, now) return now < s.expire and s.count or 0 end

local function fixed_decide(s, now, cost, flags)
  local used, reset, ends = fixed_used(s, now), 0, s.ends or floor_to(now, s.window) + s.window
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

local function fixed_open(key, now, s)
  if type(s.window) == 'string' then
    local from, to = match(s.window, '^(%-?%d+):(%-?%d+)$')
    s.window, s.ends = to - from, tonumber(to)
    if now < tonumber(from) or now >= s.ends then
      return nil, { OUTSIDE, now, 0 }
    end
  end
  local count, expire, refusal = string_state(key, read_fixed)
  if refusal then
    return nil, refusal
  end
  s.count, s.expire = count or 0, expire
  return s
end

-- fixed_remove takes units away that the key has.
local function fixed_remove(key, count, n)
  if n == count then
    call('DEL', key)
  else
    call('SET', key, format('%.0f', count - n), 'KEEPTTL')
  end
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_fixed, name = 'fixed', open = fixed_open, decide = fixed_decide,
  record = recorder(fixed_decide),
  commit = function(s, key)
    if s.changed then
      call('SET', key, format('%.0f', s.count), 'PXAT', s.expire)
    end
    return s.expire
  end,
  held = function(s, now, h)
    return h.place == s.expire and min(h.units, fixed_used(s, now)) or 0
  end,
  give_back = function(s, key, _, _, n) fixed_remove(key, s.count, n) end,
  refund = function(key, now, n, count)
    if now >= expiry(key) then
      return { 0 }
    end
    n = min(n, count)
    if n > 0 then
      fixed_remove(key, count, n)
    end
    return { n }
  end,
  info = function(key, now, count)
    return { fixed_used({ count = count, expire = expiry(key) }, now), false, false }
  end,
}
