-- BUCKETS: a hash with the width of a bucket, their number n, the start of the newest and
-- the counts, newest first. A decision reads all counts: O(n).

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

local function bucket_wait(b, i, now, window) -- i from 1
  return b.newest - (i - 1) * b.width + b.width - 1 + window - now
end

local function buckets_used(b, now, window)
  local used = 0
  for i, count in ipairs(b.counts) do
    if bucket_wait(b, i, now, window) <= 0 then
      break
    end
    used = used + count
  end
  return used
end

local function buckets_leaves(b, now, window, used, n)
  local stay = used - n
  for i, count in ipairs(b.counts) do
    stay = stay - count
    if stay < 0 then
      return bucket_wait(b, i, now, window)
    end
  end
  return 0
end

-- buckets_retention returns how long the key's expiry keeps its newest bucket.
local function buckets_retention(b, expire)
  if expire > 0 then
    return expire - (b.newest + b.width - 1)
  end
  return b.n * b.width
end

-- buckets_add counts units into the bucket of an instant.
local function buckets_add(b, now, units)
  local begin = floor_to(now, b.width)
  if #b.counts == 0 then
    b.newest, b.counts = begin, { 0 }
  end
  if begin > b.newest then
    local by = min((begin - b.newest) / b.width, b.n + 1)
    local counts = {}
    for i = 1, min(#b.counts + by, b.n + 1) do
      counts[i] = b.counts[i - by] or 0
    end
    b.newest, b.counts = begin, counts
  end
  b.counts[1] = b.counts[1] + units
  while #b.counts > 1 and b.counts[#b.counts] == 0 do
    b.counts[#b.counts] = nil
  end
end

local function buckets_decide(b, now, cost, flags)
  local window, limit, expire = b.window, b.limit, b.expire
  local expired = expire > 0 and now > expire
  local used = expired and 0 or buckets_used(b, now, window)
  if is_large(used) then
    return { LARGE, 0, 0, 0, 0, 0, 0, 0 }
  end
  local allowed, remaining, retry, leave = measure(limit, used, cost, flags)
  local reset, next_after, before = 0, 0, used
  if used > 0 then
    reset = until_gone(buckets_leaves(b, now, window, used, used), now, expire)
  end
  local leaving = grows_after(limit, used)
  if leaving > 0 then
    next_after = until_gone(buckets_leaves(b, now, window, used, leaving), now, expire)
  end
  if leave > 0 then
    retry = until_gone(buckets_leaves(b, now, window, used, leave), now, expire)
  end
  if allowed > 0 and not has(flags, PEEK) then
    local newest, keep = floor_to(now, b.width), window
    if #b.counts > 0 and newest <= b.newest and is_large(b.counts[1] + allowed) then
      return { LARGE, 0, 0, 0, 0, 0, 0, 0 }
    end
    used, remaining = used + allowed, remaining - allowed
    if #b.counts > 0 and not expired then
      newest = max(newest, b.newest)
      if expire > 0 then
        keep = max(keep, buckets_retention(b, expire))
      end
    end
    local ends = newest + b.width - 1
    reset = ends + window - now
    if before == 0 then
      next_after = reset
    else
      local wait = buckets_leaves(b, now, window, before, 1)
      if wait > 0 then
        next_after = wait
      end
    end
    buckets_add(b, now, allowed)
    b.expire, b.changed = ends + keep, true
  end
  return { allowed, limit, remaining, retry, reset, next_after, used, window }
end

local function buckets_write(key, b)
  local texts = {}
  for i, count in ipairs(b.counts) do
    texts[i] = format('%.0f', count)
  end
  local counts, newest = table.concat(texts, ' '), format('%.0f', b.newest)
  if b.exists then
    call('HSET', key, 'newest', newest, 'counts', counts)
  else
    call('HSET', key, 'width', b.width, 'n', b.n, 'newest', newest, 'counts', counts)
  end
  if b.expire > 0 then
    call('PEXPIREAT', key, b.expire)
  end
end

local function buckets_open(key, _, t)
  local kind, n, width = type_of(key), t.param, ceil_div(t.window, t.param)
  if kind == 'none' then
    return {
      counts = {}, n = n, width = width, newest = 0, expire = 0, limit = t.limit, window = t.window,
    }
  end
  local b, large
  if kind == 'hash' then
    b, large = read_buckets(key)
  end
  if not b then
    return nil, wrong_state(key)
  elseif large then
    return nil, { LARGE, 0, 0 }
  elseif b.n ~= n or b.width ~= width then
    return nil, { DIFFERS, b.n, b.width, n, width }
  end
  b.exists, b.expire, b.limit, b.window = true, max(0, expiry(key)), t.limit, t.window
  return b
end

-- buckets_strip drops empty buckets at both ends and writes what is left, with its retention.
local function buckets_strip(b, key, keep)
  while b.counts[1] == 0 do
    table.remove(b.counts, 1)
    b.newest = b.newest - b.width
  end
  if #b.counts == 0 then
    call('DEL', key)
    return
  end
  while b.counts[#b.counts] == 0 do
    b.counts[#b.counts] = nil
  end
  if b.expire > 0 then
    b.expire = b.newest + b.width - 1 + keep
  end
  buckets_write(key, b)
end

-- buckets_index returns the bucket that begins at an instant, nil if there is none.
local function buckets_index(b, begin)
  local i = (b.newest - begin) / b.width + 1
  return i >= 1 and i <= #b.counts and i == floor(i) and i or nil
end

algorithms[#algorithms + 1] = {
  type = 'hash', read = read_buckets, name = 'buckets', open = buckets_open, decide = buckets_decide,
  record = recorder(buckets_decide),
  valid_held = function(h) return h.param >= 1 and h.param <= MAX_BUCKETS end,
  commit = function(b, key)
    if b.changed then
      buckets_write(key, b)
    end
    return b.newest
  end,
  held = function(b, now, h)
    local i = buckets_index(b, h.place)
    if not i or bucket_wait(b, i, now, buckets_retention(b, b.expire)) <= 0 then
      return 0
    end
    return min(h.units, b.counts[i])
  end,
  give_back = function(b, key, _, h, n)
    local i, keep = buckets_index(b, h.place), buckets_retention(b, b.expire)
    b.counts[i] = b.counts[i] - n
    buckets_strip(b, key, keep)
  end,
  refund = function(key, now, n, b)
    b.exists, b.expire = true, max(0, expiry(key))
    local keep, removed = buckets_retention(b, b.expire), 0
    for i, count in ipairs(b.counts) do
      if removed == n or bucket_wait(b, i, now, keep) <= 0 then
        break
      end
      local part = min(count, n - removed)
      b.counts[i], removed = count - part, removed + part
    end
    if removed > 0 then
      buckets_strip(b, key, keep)
    end
    return { removed }
  end,
  info = function(key, now, b)
    return {
      buckets_used(b, now, buckets_retention(b, max(0, expiry(key)))), b.newest - (#b.counts - 1) * b.width,
      b.newest + b.width - 1, b.width, b.n,
    }
  end,
}
