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

-- leases_open returns the leases of a key, or the reply that refuses it.
local function leases_open(key, now)
  local kind = type_of(key)
  if kind == 'none' then
    return { key = key, now = now, size = 0, expired = 0 }
  elseif kind ~= 'zset' or not is_leases(key) then
    return nil, wrong_state(key)
  end
  return {
    key = key, now = now, size = call('ZCARD', key), expired = call('ZCOUNT', key, '-inf', now),
    expire = expiry(key),
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

-- key; most slots, milliseconds, id. The reply is 1 or 0, the slots in use and the wait.
local function acquire(keys, args)
  local most, id = tonumber(args[1]), args[3]
  local k, refusal = leases_open(keys[1], now_ms())
  if refusal then
    return refusal
  end
  local granted = 0
  if most > 0 and (leases_active(k) < most or leases_hold(k, id)) then
    granted = 1
    leases_grant(k, id, tonumber(args[2]))
  end
  local excess, wait = leases_active(k) - most, 0
  if most == 0 then
    wait = -1
  elseif excess >= 0 then
    local rank = k.expired + excess
    wait = tonumber(call('ZRANGE', k.key, rank, rank, 'WITHSCORES')[2]) - k.now
  end
  return { granted, leases_active(k), wait }
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
  call('ZREM', k.key, args[1])
  leases_commit(k)
  return { 1 }
end

algorithms[#algorithms + 1] = {
  type = 'zset', read = is_leases,
  info = function(key, now)
    return { call('ZCARD', key) - call('ZCOUNT', key, '-inf', now), false, false }
  end,
}
