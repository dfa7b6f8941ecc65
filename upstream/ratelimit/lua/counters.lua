-- FIXED, GCRA and COUNTER: strings. Each has a decide, which answers one caller and
-- changes the state in memory, and an allow, which reads and writes it.

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
  local count, expire, refusal = string_state(keys[1], function(text)
    local n, large = read_fixed(text)
    if n and expiry(keys[1]) < 1 then
      return nil
    end
    return n, large
  end)
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

local function gcra_decide(s, now, cost, flags)
  local ahead = 0
  if s.expire < 1 or now <= s.expire then
    ahead = max(0, s.tat - now * 1000)
  end
  local burst, interval, expire = s.burst, s.interval, s.expire
  local used = ceil_div(ahead, interval)
  local allowed, remaining, retry, leave = measure(burst, used, cost, flags)
  if leave > 0 then
    retry = until_gone(ceil_div(ahead - (used - leave) * interval, 1000), now, expire)
  end
  if allowed > 0 and not has(flags, PEEK) then
    used, remaining = used + allowed, remaining - allowed
    ahead = ahead + allowed * interval
    if is_large(now * 1000 + ahead) then
      return { LARGE, 0, 0, 0, 0, 0, 0, 0 }
    end
    expire = now + ceil_div(ahead, 1000)
    s.tat, s.expire, s.changed = now * 1000 + ahead, expire, true
  end
  local reset, next_after = 0, 0
  if used > 0 then
    reset = until_gone(ceil_div(ahead, 1000), now, expire)
  end
  local full = min(used, burst) - 1
  if full >= 0 then
    next_after = until_gone(ceil_div(ahead - full * interval, 1000), now, expire)
  end
  return { allowed, 0, remaining, retry, reset, next_after, used, 0 }
end

-- key; microseconds between two units, burst, then cost, options for each caller. The
-- decisions have no limit and no window.
local function allow_gcra(keys, args)
  local now = now_ms()
  local tat, expire, refusal = string_state(keys[1], read_gcra)
  if refusal then
    return refusal
  end
  local s = { tat = tat or 0, expire = expire, interval = tonumber(args[1]), burst = tonumber(args[2]) }
  local reply = callers(args, 3, gcra_decide, s, now)
  if s.changed then
    call('SET', keys[1], 'gcra ' .. format('%.0f', s.tat), 'PXAT', s.expire)
  end
  return reply
end

-- counter_at returns the state with the slice of an instant as its newest.
local function counter_at(s, now, expire)
  local begin = floor_to(now, s.window)
  local at = { window = s.window, begin = begin, count = 0, previous = 0 }
  if s.count == 0 and s.previous == 0 or expire > 0 and now > expire then
    return at
  elseif begin <= s.begin then
    at.begin, at.count, at.previous = s.begin, s.count, s.previous
  elseif begin - s.begin == s.window then
    at.previous = s.count
  end
  return at
end

local function counter_used(at, now)
  local elapsed = min(max(now - at.begin, 0), at.window)
  local part, more = mul_div(at.previous, at.window - elapsed, at.window)
  if more then
    part = part + 1
  end
  return at.count + part
end

local function counter_leaves(at, now, used, n)
  local stay, slice, begin = used - n - at.count, at.previous, at.begin
  if stay < 0 then
    stay, slice, begin = used - n, at.count, at.begin + at.window
  end
  local elapsed = at.window
  if slice > 0 then
    elapsed = elapsed - min((mul_div(min(stay, slice), at.window, slice)), at.window)
  end
  return begin + elapsed - now
end

local function counter_decide(s, now, cost, flags)
  local at, expire = counter_at(s, now, s.expire), s.expire
  local used = counter_used(at, now)
  if is_large(used) then
    return { LARGE, 0, 0, 0, 0, 0, 0, 0 }
  end
  local allowed, remaining, retry, leave = measure(s.limit, used, cost, flags)
  if leave > 0 then
    retry = until_gone(counter_leaves(at, now, used, leave), now, expire)
  end
  if allowed > 0 and not has(flags, PEEK) then
    used, remaining = used + allowed, remaining - allowed
    at.count = at.count + allowed
    expire = at.begin + 2 * s.window
    s.begin, s.count, s.previous, s.expire, s.changed = at.begin, at.count, at.previous, expire, true
  end
  local reset, next_after = 0, 0
  if used > 0 then
    reset = until_gone(counter_leaves(at, now, used, used), now, expire)
  end
  local leaving = grows_after(s.limit, used)
  if leaving > 0 then
    next_after = until_gone(counter_leaves(at, now, used, leaving), now, expire)
  end
  return { allowed, s.limit, remaining, retry, reset, next_after, used, s.window }
end

local function counter_text(s)
  return format('counter %.0f %.0f %.0f %.0f', s.window, s.begin, s.count, s.previous)
end

-- key; limit, window, then cost, options for each caller.
local function allow_counter(keys, args)
  local now, window = now_ms(), tonumber(args[2])
  local s, expire, refusal = string_state(keys[1], read_counter)
  if refusal then
    return refusal
  elseif not s then
    s = { window = window, begin = 0, count = 0, previous = 0 }
  elseif s.window ~= window then
    return { WINDOW_DIFFERS, s.window, 0 }
  end
  s.expire, s.limit = max(0, expire), tonumber(args[1])
  local reply = callers(args, 3, counter_decide, s, now)
  if s.changed then
    call('SET', keys[1], counter_text(s), 'PXAT', s.expire)
  end
  return reply
end
