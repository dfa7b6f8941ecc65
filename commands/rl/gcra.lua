-- GCRA: a string, "gcra " and the theoretical arrival time in unix microseconds.

local function read_gcra(_, text)
  local digits = match(text, '^gcra (.*)$')
  local tat = digits and integer(digits)
  if not tat then
    return nil
  end
  return tat, is_large(tat)
end

-- gcra_ahead returns in how many microseconds the bucket is full.
local function gcra_ahead(s, now)
  if s.expire < 1 or now <= s.expire then
    return max(0, s.tat - now * 1000)
  end
  return 0
end

local function gcra_decide(s, now, cost, flags)
  local ahead = gcra_ahead(s, now)
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
    s.tat, s.expire, s.place, s.changed = now * 1000 + ahead, expire, now, true
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

local function gcra_open(key, _, s)
  local tat, expire, refusal = string_state(key, read_gcra)
  if refusal then
    return nil, refusal
  end
  local limit, us = s.limit, s.window * 1000
  s.tat, s.expire, s.burst, s.interval = tat or 0, expire, s.param, us
  if limit == 0 then
    s.burst = 0
  elseif limit > 1 then
    s.interval = floor((us - 1) / limit) + 1
  end
  return s
end

-- gcra_share returns how many microseconds the units of a taking would fill ahead of now in an empty bucket.
local function gcra_share(s, now, h)
  return min(gcra_ahead(s, now), max(0, (h.place - now) * 1000 + h.units * s.interval))
end

local function gcra_write(key, s)
  call('SET', key, 'gcra ' .. format('%.0f', s.tat), 'PXAT', s.expire)
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_gcra, name = 'gcra', open = gcra_open, decide = gcra_decide,
  any_size = true, -- refund and info do not count with the number
  record = function(s, now, units)
    if units >= ceil_div(MAX_WINDOW * 1000 - gcra_ahead(s, now), s.interval) then
      return LONG
    end
    s.burst = math.huge
    local d = gcra_decide(s, now, units, 0)
    return d[1] < 0 and d[1] or nil
  end,
  commit = function(s, key)
    if s.changed then
      gcra_write(key, s)
    end
    return s.place
  end,
  held = function(s, now, h) return min(h.units, ceil_div(gcra_share(s, now, h), s.interval)) end,
  give_back = function(s, key, now, h, n)
    s.tat = s.tat - min(s.interval * n, gcra_share(s, now, h))
    local ahead = gcra_ahead(s, now)
    if ahead == 0 then
      call('DEL', key)
    else
      s.expire = now + ceil_div(ahead, 1000)
      gcra_write(key, s)
    end
  end,
  refund = function(_, _, _, _, held) return { NO_REFUND, held, 0 } end,
  info = function(key) return { false, false, false, match(call('GET', key), '^gcra (.*)$') } end,
}
