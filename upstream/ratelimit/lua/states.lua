-- States: what a key holds. A reader of a state returns nil for other content, and a
-- second result that says whether a number in it is too large to count with.

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

local function read_fixed(text)
  local count = integer(text)
  if not count or count < 0 then
    return nil
  end
  return count, is_large(count)
end

local function read_gcra(text)
  local digits = match(text, '^gcra (.*)$')
  local tat = digits and integer(digits)
  if not tat then
    return nil
  end
  return tat, is_large(tat)
end

local function read_counter(text)
  local texts = { match(text, '^counter (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+)$') }
  local s, large = {}, false
  for i, name in ipairs({ 'window', 'begin', 'count', 'previous' }) do
    local n = texts[i] and integer(texts[i])
    if not n then
      return nil
    end
    s[name], large = n, large or is_large(n)
  end
  if s.window < 1 or s.window >= MAX_WINDOW or s.begin % s.window ~= 0 or s.count < 0 or s.previous < 0 then
    return nil
  end
  return s, large
end

local HOLD_NUMBERS = ' (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+)'

-- read_hold returns the state of a hold. What it only hands on stays text.
local function read_hold(text)
  local texts = { match(text, '^hold' .. HOLD_NUMBERS .. ' held$') }
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
    settled = settled, counted = texts[8], excess = texts[9], released = texts[10],
    begin = match(text, '^(hold[ %-%d]*) %l'),
  }
  if h.units < 1 or h.units > MAX_COST or h.first < MIN_SCORE or h.first >= MAX_SCORE - h.units or
    h.window < 1 or h.window >= MAX_WINDOW then
    return nil
  end
  return h
end

-- read_buckets returns the state of BUCKETS that a hash holds.
local function read_buckets(key)
  if call('HLEN', key) ~= 4 then
    return nil
  end
  local texts = call('HMGET', key, 'width', 'n', 'newest', 'counts')
  local b, large = { counts = {} }, false
  for i, name in ipairs({ 'width', 'n', 'newest' }) do
    b[name] = texts[i] and integer(texts[i])
    if not b[name] then
      return nil
    end
    large = large or is_large(b[name])
  end
  if not texts[4] or b.n < 1 or b.n > MAX_BUCKETS or b.width < 1 or b.width > MAX_WINDOW or
    b.newest % b.width ~= 0 or not find(texts[4], '^%d[%d ]*$') or find(texts[4], '  ', 1, true) or
    find(texts[4], ' $') then
    return nil
  end
  for text in string.gmatch(texts[4], '%d+') do
    local count = integer(text)
    if not count or #b.counts > b.n then
      return nil
    end
    b.counts[#b.counts + 1], large = count, large or is_large(count)
  end
  return b, large
end

-- algorithm_of returns the number of the algorithm whose state a key of a type holds, and
-- that state if it is a string or a hash.
local function algorithm_of(key, kind)
  if kind == 'zset' then
    if log_end(key, 0) and log_end(key, -1) then
      return LOG
    end
    return is_leases(key) and LEASES or nil
  elseif kind == 'hash' then
    local b, large = read_buckets(key)
    return b and BUCKETS or nil, b, large
  elseif kind ~= 'string' then
    return nil
  end
  local text = call('GET', key)
  local state, large = read_fixed(text)
  if state and expiry(key) > 0 then
    return FIXED, state, large
  end
  state, large = read_gcra(text)
  if state then
    return GCRA, state, large
  end
  state, large = read_counter(text)
  if state then
    return COUNTER, state, large
  end
  state = read_hold(text)
  return state and HOLD or nil, state, false
end

local TYPES = { zset = 1, string = 2, hash = 3 }

local function type_of(key) return call('TYPE', key).ok end

local function foreign(kind) return { FOREIGN, TYPES[kind] or 0, 0 } end

-- wrong_state returns the reply for a key without the state that the call expects.
local function wrong_state(key)
  local kind = type_of(key)
  local held = algorithm_of(key, kind)
  if held then
    return { HOLDS, held, 0 }
  end
  return foreign(kind)
end

-- string_state reads a key that is to hold a string for one algorithm. It returns the
-- state, nil if the key does not exist, and its expiry, or a reply as third result.
local function string_state(key, read)
  local text = try('GET', key)
  if not text then
    return nil, 0
  end
  local state, large
  if type(text) == 'string' then
    state, large = read(text)
  else
    only_wrong_type(text)
  end
  if not state then
    return nil, 0, wrong_state(key)
  elseif large then
    return nil, 0, { LARGE, 0, 0 }
  end
  return state, expiry(key)
end
