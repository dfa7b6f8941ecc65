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

-- key; n. The reply is how many units were returned.
local function refund(keys, args)
  local kind = type_of(keys[1])
  if kind == 'none' then
    return { 0 }
  end
  local held, state, large = algorithm_of(keys[1], kind)
  local a = algorithms[held]
  if not a or not a.refund then
    return foreign(kind)
  elseif large and not a.any_size then
    return { LARGE, 0, 0 }
  end
  return a.refund(keys[1], now_ms(), tonumber(args[1]), state, held)
end

-- key. The reply is the algorithm, bytes, time to live, and what its info returns: units used,
-- oldest, newest and further numbers, where false is unknown; empty without key.
local function info(keys)
  local key, kind = keys[1], type_of(keys[1])
  if kind == 'none' then
    return {}
  end
  local held, state, large = algorithm_of(key, kind)
  if not held then
    return foreign(kind)
  elseif large and not algorithms[held].any_size then
    return { LARGE, 0, 0 }
  end
  local now, at, bytes = now_ms(), expiry(key), try('MEMORY', 'USAGE', key)
  local reply = { held, type(bytes) == 'number' and bytes, at > 0 and at - now or -1 }
  for _, part in ipairs(algorithms[held].info(key, now, state)) do
    reply[#reply + 1] = part
  end
  return reply
end
