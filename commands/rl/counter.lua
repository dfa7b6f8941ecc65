-- COUNTER: a string, "counter ", the window, the beginning of the newest slice, its units and those of the
-- slice before.

local function read_counter(_, text)
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

-- counter_at returns the state with the slice of an instant as its newest.
local function counter_at(s, now, expire)
  local begin = floor_to(now, s.window)
  local at = { window = s.window, begin = begin, count = 0, previous = 0 }
  if s.count == 0 and s.previous == 0 or expire > 0 and now > expire then
    return at
  elseif begin <= s.begin then
    at.begin, at.count, at.previous = s.begin, s.count, s.previous
  elseif begin - s.begin == s.window then
    at.previous = s.count
  end
  return at
end

local function counter_used(at, now)
  local elapsed = min(max(now - at.begin, 0), at.window)
  local part, more = mul_div(at.previous, at.window - elapsed, at.window)
  if more then
    part = part + 1
  end
  return at.count + part
end

local function counter_leaves(at, now, used, n)
  local stay, slice, begin = used - n - at.count, at.previous, at.begin
  if stay < 0 then
    stay, slice, begin = used - n, at.count, at.begin + at.window
  end
  local elapsed = at.window
  if slice > 0 then
    elapsed = elapsed - min((mul_div(min(stay, slice), at.window, slice)), at.window)
  end
  return begin + elapsed - now
end

local function counter_decide(s, now, cost, flags)
  local at, expire = counter_at(s, now, s.expire), s.expire
  local used = counter_used(at, now)
  if is_large(used) then
    return { LARGE, 0, 0, 0, 0, 0, 0, 0 }
  end
  local allowed, remaining, retry, leave = measure(s.limit, used, cost, flags)
  if leave > 0 then
    retry = until_gone(counter_leaves(at, now, used, leave), now, expire)
  end
  if allowed > 0 and not has(flags, PEEK) then
    used, remaining = used + allowed, remaining - allowed
    at.count = at.count + allowed
    expire = at.begin + 2 * s.window
    s.begin, s.count, s.previous, s.expire, s.changed = at.begin, at.count, at.previous, expire, true
  end
  local reset, next_after = 0, 0
  if used > 0 then
    reset = until_gone(counter_leaves(at, now, used, used), now, expire)
  end
  local leaving = grows_after(s.limit, used)
  if leaving > 0 then
    next_after = until_gone(counter_leaves(at, now, used, leaving), now, expire)
  end
  return { allowed, s.limit, remaining, retry, reset, next_after, used, s.window }
end

local function counter_text(s)
  return format('counter %.0f %.0f %.0f %.0f', s.window, s.begin, s.count, s.previous)
end

local function counter_open(key, _, t)
  local s, expire, refusal = string_state(key, read_counter)
  if refusal then
    return nil, refusal
  elseif not s then
    s = { window = t.window, begin = 0, count = 0, previous = 0 }
  elseif s.window ~= t.window then
    return nil, { DIFFERS, s.window, t.window }
  end
  s.expire, s.limit = max(0, expire), t.limit
  return s
end

-- counter_rest writes a state that units were taken from.
local function counter_rest(s, key)
  if s.count + s.previous == 0 then
    call('DEL', key)
  else
    call('SET', key, counter_text(s), 'KEEPTTL')
  end
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_counter, name = 'counter', open = counter_open, decide = counter_decide,
  record = recorder(counter_decide),
  commit = function(s, key)
    if s.changed then
      call('SET', key, counter_text(s), 'PXAT', s.expire)
    end
    return s.begin
  end,
  held = function(s, now, h)
    local at = counter_at(s, now, s.expire)
    if h.place == at.begin then
      return min(h.units, at.count)
    end
    return h.place == at.begin - at.window and min(h.units, at.previous) or 0
  end,
  give_back = function(s, key, _, h, n)
    if h.place == s.begin then
      s.count = s.count - n
    else
      s.previous = s.previous - n
    end
    counter_rest(s, key)
  end,
  refund = function(key, now, n, s)
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
    if removed > 0 then
      counter_rest(s, key)
    end
    return { removed }
  end,
  info = function(key, now, s)
    local oldest = s.begin
    if s.previous > 0 then
      oldest = oldest - s.window
    end
    return {
      counter_used(counter_at(s, now, max(0, expiry(key))), now), oldest, s.begin + s.window - 1, s.window,
    }
  end,
}
