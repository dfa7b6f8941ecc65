-- RL.RESET, RL.REFUND and RL.INFO, for keys of any algorithm.

-- keys. The reply is how many were removed.
local function reset(keys)
  for _, key in ipairs(keys) do
    local kind = type_of(key)
    if kind ~= 'none' and not algorithm_of(key, kind) then
      return foreign(kind)
    end
  end
  local removed = 0
  for _, key in ipairs(keys) do
    removed = removed + call('DEL', key)
  end
  return { removed }
end

local refunds = {
  [LOG] = function(key, now, n)
    local k = log_open(key, now, {})
    return { log_remove(k, n, MIN_SCORE, MAX_SCORE - 1) }
  end,
  [FIXED] = function(key, now, n, count)
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
  [GCRA] = function() return { NO_REFUND, 0, 0 } end,
  [BUCKETS] = function(key, now, n, b)
    b.exists, b.expire = true, max(0, expiry(key))
    local keep, removed = buckets_retention(b, b.expire), 0
    for i, count in ipairs(b.counts) do
      if removed == n or bucket_wait(b, i, now, keep) <= 0 then
        break
      end
      local part = min(count, n - removed)
      b.counts[i], removed = count - part, removed + part
    end
    if removed == 0 then
      return { 0 }
    end
    while b.counts[1] == 0 do
      table.remove(b.counts, 1)
      b.newest = b.newest - b.width
    end
    if #b.counts == 0 then
      call('DEL', key)
      return { removed }
    elseif b.expire > 0 then
      b.expire = b.newest + b.width - 1 + keep
    end
    buckets_write(key, b)
    return { removed }
  end,
  [COUNTER] = function(key, now, n, s)
    local at, removed = counter_at(s, now, 0), 0
    if at.begin ~= s.begin then
      removed = min(n, at.previous)
      s.count, s.previous = at.previous - removed, 0
    else
      removed = min(n, s.count)
      s.count = s.count - removed
      local part = min(n - removed, s.previous)
      s.previous, removed = s.previous - part, removed + part
    end
    if removed > 0 and s.count + s.previous == 0 then
      call('DEL', key)
    elseif removed > 0 then
      call('SET', key, counter_text(s), 'KEEPTTL')
    end
    return { removed }
  end,
}

-- key; n. The reply is how many units were returned.
local function refund(keys, args)
  local kind = type_of(keys[1])
  if kind == 'none' then
    return { 0 }
  end
  local held, state, large = algorithm_of(keys[1], kind)
  local of = refunds[held]
  if not of then
    return foreign(kind)
  elseif large and held ~= GCRA then
    return { LARGE, 0, 0 }
  end
  return of(keys[1], now_ms(), tonumber(args[1]), state)
end

-- The parts of RL.INFO: units used, oldest, newest and further numbers. False is unknown.
local infos = {
  [LOG] = function(key, now)
    local k = log_open(key, now, {})
    local keep = MAX_WINDOW
    if k.expire > 0 then
      keep = log_keep(k)
    end
    return { log_stored(k, keep), floor(k.stored_oldest / 1000), floor(k.stored_newest / 1000) }
  end,
  [FIXED] = function(key, now, count)
    return { fixed_used({ count = count, expire = expiry(key) }, now), false, false }
  end,
  [GCRA] = function(key) return { false, false, false, match(call('GET', key), '^gcra (.*)$') } end,
  [BUCKETS] = function(key, now, b)
    return {
      buckets_used(b, now, buckets_retention(b, max(0, expiry(key)))), b.newest - (#b.counts - 1) * b.width,
      b.newest + b.width - 1, b.width, b.n,
    }
  end,
  [COUNTER] = function(key, now, s)
    local oldest = s.begin
    if s.previous > 0 then
      oldest = oldest - s.window
    end
    return {
      counter_used(counter_at(s, now, max(0, expiry(key))), now), oldest, s.begin + s.window - 1, s.window,
    }
  end,
  [HOLD] = function(_, _, h) return { h.units, false, false } end,
  [LEASES] = function(key, now)
    return { call('ZCARD', key) - call('ZCOUNT', key, '-inf', now), false, false }
  end,
}

-- key. The reply is the algorithm, bytes, time to live, and the parts; empty without key.
local function info(keys)
  local key, kind = keys[1], type_of(keys[1])
  if kind == 'none' then
    return {}
  end
  local held, state, large = algorithm_of(key, kind)
  if not held then
    return foreign(kind)
  elseif large and held ~= GCRA then
    return { LARGE, 0, 0 }
  end
  local now, at, bytes = now_ms(), expiry(key), try('MEMORY', 'USAGE', key)
  local reply = { held, type(bytes) == 'number' and bytes, at > 0 and at - now or -1 }
  for _, part in ipairs(infos[held](key, now, state)) do
    reply[#reply + 1] = part
  end
  return reply
end
