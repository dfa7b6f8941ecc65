-- RL.ADOPT: sets of times that limiters' scripts write, and logs.

-- Units of a time as a score: microseconds are score * times / over.
local ADOPT_UNITS = {
  { name = 's', times = 1000000, over = 1 }, { name = 'ms', times = 1000, over = 1 },
  { name = 'us', times = 1, over = 1 }, { name = 'ns', times = 1, over = 1000 },
}

local function ceil(n) return -floor(-n) end

local function unit_us(unit, score)
  local us = score * unit.times / unit.over
  local whole = floor(us)
  return us - whole >= 0.5 and whole + 1 or whole
end

local function unit_fits(unit, score)
  local us = unit_us(unit, score)
  return us >= MIN_SCORE and us < MAX_SCORE - MAX_SCORE % 1000
end

-- adopt_unit returns the unit of a set's scores, nil if it is not known.
local function adopt_unit(key)
  local oldest = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
  local newest = tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
  for _, unit in ipairs(ADOPT_UNITS) do
    if unit_fits(unit, oldest) and unit_fits(unit, newest) then
      return unit
    end
  end
end

-- adopt_log returns the scores of a log for the times of a set, nil if a log cannot hold them.
local function adopt_log(unit, entries)
  local scores, units, newest = {}, {}, 0
  for i = 2, #entries, 2 do
    local score = tonumber(entries[i])
    local last = ceil(unit_us(unit, score) / 1000)
    if unit.name == 's' and score == floor(score) then
      last = last + 999
    end
    score = last * 1000
    if score <= newest then
      score = newest + 1
      if score % 1000 == 0 then
        score = newest
      end
    end
    if score >= MAX_SCORE then
      return nil
    end
    if score ~= newest then
      scores[#scores + 1], units[#units + 1] = score, 0
      newest = score
    end
    units[#scores] = units[#scores] + 1
  end
  local entries, weighted = {}, false
  for i, score in ipairs(scores) do
    weighted = weighted or units[i] > 1
    entries[2 * i - 1] = format('%.0f', score)
    entries[2 * i] = weighted and weighted_member(score, units[i]) or entries[2 * i - 1]
  end
  return entries
end

-- adopt_back returns scores and members for the units of a log, nil if there are more than a number.
local function adopt_back(unit, entries, most)
  local times = {}
  for i = 1, #entries, 2 do
    local time = ceil(floor(tonumber(entries[i + 1]) / 1000) * 1000 * unit.over / unit.times)
    if time > INEXACT then
      local apart = 1
      while time / apart >= INEXACT do
        apart = apart * 2
      end
      time = time + apart
    end
    local score, units = log_entry(entries[i], entries[i + 1])
    local stem = 'zlimit:' .. (score and format('%.0f', score) or entries[i])
    if #times / 2 + (units or 1) > most then
      return nil
    end
    for n = 1, units or 1 do
      times[#times + 1] = format('%.0f', time)
      times[#times + 1] = stem .. (n > 1 and format('-%.0f', n) or '')
    end
  end
  return times
end

-- key; unit for the way back or an empty text, most members (nil: a million). The reply is how many were
-- made.
local function adopt(keys, args)
  local key, kind, back = keys[1], type_of(keys[1]), nil
  for _, unit in ipairs(ADOPT_UNITS) do
    if unit.name == args[1] then
      back = unit
    end
  end
  if kind == 'none' then
    return { 0 }
  elseif kind ~= 'zset' or is_leases(key) then
    return wrong_state(key)
  end
  local is_log, unit = log_end(key, 0) and log_end(key, -1), adopt_unit(key)
  if is_log and not back or not is_log and back and unit == back then
    return { 0 }
  end
  local size = call('ZCARD', key)
  local most = tonumber(args[2] or 1000000)
  if size > most then
    return { ADOPT_LARGE, 0, 0 }
  elseif back and not is_log then
    return foreign(kind)
  elseif not back and not unit then
    return { ADOPT_SCORES, 0, 0 }
  end
  local members = call('ZRANGE', key, 0, -1, 'WITHSCORES')
  if back then
    members = adopt_back(back, members, most)
    if not members then
      return { ADOPT_LARGE, 0, 0 }
    end
  else
    members = adopt_log(unit, members)
    if not members then
      return { CLOCK, 0, 0 }
    end
  end
  local at = expiry(key)
  call('DEL', key)
  for i = 1, #members, 2 * CHUNK do
    call('ZADD', key, unpack(members, i, min(i + 2 * CHUNK - 1, #members)))
  end
  if at > 0 then
    call('PEXPIREAT', key, at)
  end
  return { back and #members / 2 or size }
end
