-- Leases: a sorted set of ids, scored with the millisecond at which their lease ends.

-- is_leases reports whether RL.ACQUIRE wrote the sorted set: it expires at its highest
-- score.
local function is_leases(key)
  local at = expiry(key)
  if at < 1 then
    return false
  end
  local last = tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
  return last == at and last < MIN_SCORE and call('ZCOUNT', key, '-inf', '(100000000000') == 0
end

-- leases_open returns the leases of a key, or the reply that refuses it. A call without a term has none.
local function leases_open(key, now, t)
  local kind = type_of(key)
  if kind == 'none' then
    return { key = key, now = now, size = 0, expired = 0, term = t }
  elseif kind ~= 'zset' or not is_leases(key) then
    return nil, wrong_state(key)
  end
  return {
    key = key, now = now, size = call('ZCARD', key), expired = call('ZCOUNT', key, '-inf', now),
    expire = expiry(key), term = t,
  }
end

local function leases_active(k) return k.size - k.expired end

local function leases_hold(k, id)
  local ends = k.size > 0 and call('ZSCORE', k.key, id)
  return ends and tonumber(ends) > k.now
end

-- leases_commit removes expired leases and updates the key's expiry.
local function leases_commit(k)
  call('ZREMRANGEBYSCORE', k.key, '-inf', k.now)
  k.size, k.expired = call('ZCARD', k.key), 0
  if k.size > 0 then
    local at = tonumber(call('ZRANGE', k.key, -1, -1, 'WITHSCORES')[2])
    if at ~= k.expire then
      call('PEXPIREAT', k.key, at)
    end
  end
end

local function leases_grant(k, id, lease)
  call('ZADD', k.key, k.now + lease, id)
  leases_commit(k)
end

local function leases_release(k, id)
  call('ZREM', k.key, id)
  leases_commit(k)
end

-- leases_wait returns the milliseconds until fewer than a number of slots are in use, -1 if that is 0.
local function leases_wait(k, most)
  local excess = leases_active(k) - most
  if most == 0 then
    return -1
  elseif excess < 0 then
    return 0
  end
  local rank = k.expired + excess
  return tonumber(call('ZRANGE', k.key, rank, rank, 'WITHSCORES')[2]) - k.now
end

local function leases_admit(k, id, most)
  return most > 0 and (leases_active(k) < most or leases_hold(k, id))
end

local function leases_decide(k, now, _, flags)
  local t, active, last, retry, allowed = k.term, leases_active(k), now, 0, 0
  if active > 0 then
    last = k.expire
  end
  if not leases_admit(k, t.id, t.limit) then
    retry = leases_wait(k, t.limit)
  else
    allowed = 1
    if not has(flags, PEEK) then
      k.taken, last = true, max(last, now + t.window)
      if not leases_hold(k, t.id) then
        active = active + 1
      end
    end
  end
  return { allowed, t.limit, max(0, t.limit - active), retry, last - now, 0, active, t.window }
end

-- key; most slots, milliseconds, id. The reply is 1 or 0, the slots in use and the wait.
local function acquire(keys, args)
  local most, id = tonumber(args[1]), args[3]
  local k, refusal = leases_open(keys[1], now_ms())
  if refusal then
    return refusal
  end
  local granted = 0
  if leases_admit(k, id, most) then
    granted = 1
    leases_grant(k, id, tonumber(args[2]))
  end
  return { granted, leases_active(k), leases_wait(k, most) }
end

-- key; milliseconds, id.
local function renew(keys, args)
  local k, refusal = leases_open(keys[1], now_ms())
  if refusal then
    return refusal
  elseif not leases_hold(k, args[2]) then
    return { 0 }
  end
  leases_grant(k, args[2], tonumber(args[1]))
  return { 1 }
end

-- key; id.
local function release(keys, args)
  local k, refusal = leases_open(keys[1], now_ms())
  if refusal then
    return refusal
  elseif not leases_hold(k, args[1]) then
    return { 0 }
  end
  leases_release(k, args[1])
  return { 1 }
end

algorithms[#algorithms + 1] = {
  type = 'zset', read = is_leases, name = 'leases', open = leases_open, decide = leases_decide,
  commit = function(k)
    if k.taken then
      leases_grant(k, k.term.id, k.term.window)
    end
    return k.now + k.term.window
  end,
  held = function(k) return leases_hold(k, k.term.id) and 1 or 0 end, -- nothing is recorded of slots
  give_back = function(k) leases_release(k, k.term.id) end,
  info = function(key, now)
    return { call('ZCARD', key) - call('ZCOUNT', key, '-inf', now), false, false }
  end,
}
