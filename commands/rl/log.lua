-- LOG: a sorted set with a member for each unit, equal to its score. A call reads the two
-- ends of the set, its size, and per window one count and one unit: O(log n). The units
-- that the callers of one call are granted are consecutive, so they stay two numbers until
-- they are written together.

-- log_end returns the score of rank 0 or -1 of a sorted set that is a log, nil if the
-- key does not exist, and false if it holds something else.
local function log_end(key, rank)
  local unit = try('ZRANGE', key, rank, rank, 'WITHSCORES')
  if unit.err then
    only_wrong_type(unit)
    return false
  end
  local member = unit[1]
  if not member then
    return nil
  end
  local score = tonumber(unit[2])
  if score < MIN_SCORE or score >= MAX_SCORE or tonumber(member) ~= score or
    format('%.0f', score) ~= member then
    return false
  end
  return score
end

local CHUNK = 1000 -- units in a ZADD: unpack has a bound

-- log_open returns a log at an instant, or the reply that refuses the key.
local function log_open(key, now, quotas)
  local k = {
    key = key, now = now, quotas = quotas, counts = {}, held = 0, expire = 0, old_expire = 0,
    pending = 0, longest = 0,
  }
  for _, q in ipairs(quotas) do
    k.longest = max(k.longest, q.window)
  end
  local oldest = log_end(key, 0)
  if oldest == nil then
    return k
  end
  local newest = oldest and log_end(key, -1)
  if not newest then
    return nil, wrong_state(key)
  end
  k.stored = call('ZCARD', key)
  k.stored_oldest, k.stored_newest = oldest, newest
  k.expire = max(0, expiry(key))
  k.old_expire = k.expire
  if k.expire > 0 and now > k.expire then
    k.expired = true
  else
    k.held, k.oldest, k.newest = k.stored, oldest, newest
  end
  return k
end

-- log_stored returns how many of the units in the key count in a window.
local function log_stored(k, window)
  local from = (k.now - window + 1) * 1000
  if k.held == 0 or k.stored_newest < from then
    return 0
  elseif k.oldest >= from then
    return k.held
  end
  local n = k.counts[window]
  if not n then
    n = call('ZCOUNT', k.key, from, '+inf')
    k.counts[window] = n
  end
  return n
end

-- log_unit returns the score of the n-th of the units that count in a window.
local function log_unit(k, window, n)
  local stored = log_stored(k, window)
  if n > stored then
    return k.first + (n - stored - 1)
  end
  local rank = k.held - stored + n - 1
  if rank == 0 then
    return k.oldest
  elseif rank == k.held - 1 then
    return k.stored_newest
  end
  return tonumber(call('ZRANGE', k.key, rank, rank)[1])
end

local function log_wait(k, score, window)
  return until_gone(floor(score / 1000) - k.now + window, k.now, k.expire)
end

-- log_run returns the scores of new units, or nil if the clock is outside of what a log
-- can hold.
local function log_run(k, units)
  local first = k.now * 1000
  if k.newest then
    first = max(first, k.newest + 1)
  end
  local last = first + (units - 1)
  if first < MIN_SCORE or last >= MAX_SCORE then
    return nil
  end
  return first, last
end

-- log_record counts units without checking a limit. It reports whether it could.
local function log_record(k, units)
  local first, last = log_run(k, units)
  if not first then
    return false
  end
  local keep = k.longest
  if k.newest and k.expire > 0 then
    keep = max(keep, k.expire - floor(k.newest / 1000))
  end
  if k.pending == 0 then
    k.first = first
    k.drop = (k.now - keep + 1) * 1000 - 1
    if k.expired then
      k.drop = max(k.drop, k.stored_newest)
    end
  end
  k.pending, k.newest = k.pending + units, last
  k.expire = floor(last / 1000) + keep
  return true
end

-- log_decide answers one caller under all quotas of the log.
local function log_decide(k, _, cost, flags)
  local allowed, remaining, retry, used, binding
  for _, q in ipairs(k.quotas) do
    local u = log_stored(k, q.window) + k.pending
    local a, r, wait, leave = measure(q.limit, u, cost, flags)
    if leave > 0 then
      wait = log_wait(k, log_unit(k, q.window, leave), q.window)
    end
    local binds = not binding
    if binds then
      -- the first one
    elseif wait ~= retry then
      binds = retry >= 0 and (wait < 0 or wait > retry)
    else
      binds = r < remaining
    end
    if binds then
      allowed, remaining, retry, used, binding = a, r, wait, u, q
    end
  end
  local window, reset, next_after = binding.window, 0, 0
  if used > 0 then
    reset = log_wait(k, k.newest, window)
  end
  if allowed > 0 then
    if has(flags, PEEK) then
      if not log_run(k, allowed) then
        return { CLOCK, 0, 0, 0, 0, 0, 0, 0 }
      end
    elseif log_record(k, allowed) then
      used, remaining = used + allowed, remaining - allowed
      reset = floor(k.newest / 1000) - k.now + window
    else
      return { CLOCK, 0, 0, 0, 0, 0, 0, 0 }
    end
  end
  if has(flags, FULL) then
    local leaving = grows_after(binding.limit, log_stored(k, window) + k.pending)
    if leaving > 0 then
      next_after = log_wait(k, log_unit(k, window, leaving), window)
    end
  end
  return { allowed, binding.limit, remaining, retry, reset, next_after, used, window }
end

-- log_add adds the units between two scores.
local function log_add(key, score, last)
  while score <= last do
    local units, n = {}, 0
    for unit = score, min(score + CHUNK - 1, last) do
      units[n + 1], units[n + 2] = unit, unit
      n = n + 2
    end
    call('ZADD', key, unpack(units))
    score = score + CHUNK
  end
end

-- log_commit writes what the callers were granted.
local function log_commit(k)
  if k.pending == 0 then
    return
  end
  local key, emptied = k.key, not k.stored
  if k.stored and k.drop >= k.stored_oldest then
    call('ZREMRANGEBYSCORE', key, '-inf', k.drop)
    emptied = k.drop >= k.stored_newest
  end
  log_add(key, k.first, k.newest)
  if emptied or k.expire ~= k.old_expire then
    call('PEXPIREAT', key, k.expire)
  end
end

-- log_keep returns how long the key's expiry holds a unit after its own millisecond.
local function log_keep(k)
  if k.held > 0 and k.expire > 0 then
    return max(0, k.expire - floor(k.stored_newest / 1000))
  end
  return 0
end

-- log_held returns the ranks, from the first up to but not including the second, of the
-- units between two scores that still count for some window.
local function log_held(k, first, last)
  if not k.stored then
    return 0, 0
  end
  if k.expire > 0 then
    first = max(first, (k.now - log_keep(k) + 1) * 1000)
  end
  if first > last then
    return 0, 0
  end
  return k.stored - call('ZCOUNT', k.key, first, '+inf'), k.stored - call('ZCOUNT', k.key, last + 1, '+inf')
end

-- log_remove removes the newest n of those units and returns their number. The key's
-- retention does not change.
local function log_remove(k, n, first, last)
  local below, through = log_held(k, first, last)
  local removed = min(n, through - below)
  if removed <= 0 then
    return 0
  end
  local keep = log_keep(k)
  call('ZREMRANGEBYRANK', k.key, through - removed, through - 1)
  if k.expire > 0 and removed < k.stored then
    local at = floor(tonumber(call('ZRANGE', k.key, -1, -1)[1]) / 1000) + keep
    if at ~= k.expire then
      call('PEXPIREAT', k.key, at)
    end
  end
  return removed
end

-- quotas_of reads n pairs of limit and window from args.
local function quotas_of(args, first, n)
  local quotas = {}
  for i = 1, n do
    quotas[i] = { limit = tonumber(args[first]), window = tonumber(args[first + 1]) }
    first = first + 2
  end
  return quotas
end

-- key; number of windows, limit, window ..., then cost, options for each caller.
local function allow_log(keys, args)
  local n = tonumber(args[1])
  local k, refusal = log_open(keys[1], now_ms(), quotas_of(args, 2, n))
  if refusal then
    return refusal
  end
  local reply = callers(args, 2 * n + 2, log_decide, k, k.now)
  log_commit(k)
  return reply
end

-- keys; cost, options, limit, window for each key.
local function mallow(keys, args)
  local now, cost, flags = now_ms(), tonumber(args[1]), tonumber(args[2])
  local peek = has(flags, PEEK)
  local logs, binding, index = {}, nil, 0
  for i, key in ipairs(keys) do
    local k, refusal = log_open(key, now, quotas_of(args, 2 * i + 1, 1))
    if refusal then
      return refusal
    end
    local d = log_decide(k, now, cost, PEEK)
    if d[1] < 0 then
      return { CLOCK, 0, 0 }
    end
    local binds = not binding
    if binds then
      -- the first one
    elseif d[4] ~= binding[4] then
      binds = binding[4] >= 0 and (d[4] < 0 or d[4] > binding[4])
    else
      binds = d[3] < binding[3]
    end
    if binds then
      binding, index = d, i
    end
    logs[i] = k
  end
  if binding[1] > 0 and not peek then
    for i, k in ipairs(logs) do
      local d = log_decide(k, now, cost, 0)
      log_commit(k)
      if i == index then
        binding = d
      end
    end
  end
  binding[9] = index
  return binding
end

algorithms[#algorithms + 1] = {
  type = 'zset', read = function(key) return log_end(key, 0) and log_end(key, -1) end,
  name = 'log', allow = allow_log,
  refund = function(key, now, n)
    local k = log_open(key, now, {})
    return { log_remove(k, n, MIN_SCORE, MAX_SCORE - 1) }
  end,
  info = function(key, now)
    local k = log_open(key, now, {})
    local keep = MAX_WINDOW
    if k.expire > 0 then
      keep = log_keep(k)
    end
    return { log_stored(k, keep), floor(k.stored_oldest / 1000), floor(k.stored_newest / 1000) }
  end,
}
