-- Holds: units of a log whose number RL.SETTLE corrects, and a string that knows which.

local HOLD_NUMBERS = ' (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+)'

-- read_hold returns the state of a hold. What it only hands on stays text.
local function read_hold(_, text)
  local texts = { match(text, '^hold' .. HOLD_NUMBERS .. ' open$') }
  local held = not texts[1]
  if held then -- 0.1.0 made a run of plain entries
    texts = { match(text, '^hold' .. HOLD_NUMBERS .. ' held$') }
  end
  local settled = not texts[1]
  if settled then
    texts = { match(text, '^hold' .. HOLD_NUMBERS .. ' settled (%-?%d+) (%-?%d+) (%-?%d+)$') }
    if not texts[1] then
      return nil
    end
  end
  for _, number in ipairs(texts) do
    if not integer(number) then
      return nil
    end
  end
  local h = {
    id_length = tonumber(texts[1]), first = tonumber(texts[2]), units = tonumber(texts[3]),
    window = tonumber(texts[4]), limit = texts[5], remaining = texts[6], reset = texts[7],
    held = held and not settled, settled = settled,
    counted = texts[8], excess = texts[9], released = texts[10],
    begin = match(text, '^(hold[ %-%d]*) %l'),
  }
  h.last = h.first
  if h.held then
    h.last = h.first + (h.units - 1)
  end
  if h.units < 1 or h.units >= INEXACT or h.first < MIN_SCORE or h.first >= MAX_SCORE or
    h.last >= MAX_SCORE or h.window < 1 or h.window >= MAX_WINDOW then
    return nil
  end
  return h
end

-- hold_open returns the state of the hold of an id, nil if there is none, or the reply
-- that refuses the key.
local function hold_open(key, id_length)
  local text = try('GET', key)
  if not text then
    return nil
  elseif type(text) ~= 'string' then
    only_wrong_type(text)
    return nil, { FOREIGN, 0, 0 }
  end
  local h = read_hold(key, text)
  if not h or h.id_length ~= id_length then
    return nil, { FOREIGN_HOLD, 0, 0 }
  end
  return h
end

-- key, hold's key; limit, window, estimate, milliseconds, length of the id.
local function reserve(keys, args)
  local now, id_length = now_ms(), tonumber(args[5])
  local h, refusal = hold_open(keys[2], id_length)
  if refusal then
    return refusal
  elseif h then
    return { h.units, h.limit, h.remaining, 0, h.reset }
  end
  local k
  k, refusal = log_open(keys[1], now, quotas_of(args, 1, 1))
  if refusal then
    return refusal
  end
  local d = log_decide(k, now, tonumber(args[3]), 0)
  log_commit(k)
  if d[1] > 0 then
    call('SET', keys[2], format('hold %.0f %.0f %.0f %s %.0f %.0f %.0f open', id_length, k.first, d[1],
      args[2], d[2], d[3], d[5]), 'PXAT', now + tonumber(args[4]))
  end
  return d
end

-- key, hold's key; actual units, length of the id.
-- The reply is 0, the units that count, the excess and the units released, or empty without a hold.
local function settle(keys, args)
  local now, actual = now_ms(), tonumber(args[1])
  local h, refusal = hold_open(keys[2], tonumber(args[2]))
  if refusal then
    return refusal
  elseif not h then
    return {}
  elseif h.settled then
    return { 0, h.counted, h.excess, h.released }
  end
  local k
  k, refusal = log_open(keys[1], now, { { limit = 0, window = h.window } })
  if refusal then
    return refusal
  end
  local excess = max(actual - h.units, 0)
  local held, released = log_held(k, h.first, h.last), 0
  if actual < h.units then
    released = log_remove(k, h.units - actual, h.first, h.last)
  end
  -- Others may have added units to the entry, and RL.REFUND may have taken some.
  local counted = min(held - released, h.units - released) + excess
  if excess > 0 then
    local code = log_record(k, excess)
    if code then
      return { code, 0, 0 }
    end
    log_commit(k)
  end
  call('SET', keys[2], format('%s settled %.0f %.0f %.0f', h.begin, counted, excess, released), 'KEEPTTL')
  return { 0, counted, excess, released }
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_hold,
  info = function(_, _, h) return { h.units, false, false } end,
}
