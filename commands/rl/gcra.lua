-- GCRA: a string, "gcra " and the theoretical arrival time in unix microseconds.

local function read_gcra(_, text)
  local digits = match(text, '^gcra (.*)$')
  local tat = digits and integer(digits)
  if not tat then
    return nil
  end
  return tat, is_large(tat)
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

algorithms[#algorithms + 1] = {
  type = 'string', read = read_gcra, name = 'gcra', allow = allow_gcra,
  any_size = true, -- nothing below counts with the number
  refund = function() return { NO_REFUND, 0, 0 } end,
  info = function(key) return { false, false, false, match(call('GET', key), '^gcra (.*)$') } end,
}
