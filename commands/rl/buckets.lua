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
    used, remaining = used + allowed, remaining - allowed
    local newest, keep = floor_to(now, b.width), window
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
    if is_large(b.counts[1]) then
      b.large = true
    end
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

-- buckets_open returns the state of BUCKETS in a key, nil if it does not exist, or the
-- reply that refuses it.
local function buckets_open(key)
  local kind = type_of(key)
  if kind == 'none' then
    return nil
  end
  local b, large
  if kind == 'hash' then
    b, large = read_buckets(key)
  end
  if not b then
    return nil, wrong_state(key)
  elseif large then
    return nil, { LARGE, 0, 0 }
  end
  b.exists, b.expire = true, max(0, expiry(key))
  return b
end

-- key; limit, window, n, width, then cost, options for each caller.
local function allow_buckets(keys, args)
  local now, n, width = now_ms(), tonumber(args[3]), tonumber(args[4])
  local b, refusal = buckets_open(keys[1])
  if refusal then
    return refusal
  elseif not b then
    b = { counts = {}, n = n, width = width, newest = 0, expire = 0 }
  elseif b.n ~= n or b.width ~= width then
    return { BUCKETS_DIFFER, b.n, b.width }
  end
  b.limit, b.window = tonumber(args[1]), tonumber(args[2])
  local reply = callers(args, 5, buckets_decide, b, now)
  if b.large then
    return { LARGE, 0, 0 }
  elseif b.changed then
    buckets_write(keys[1], b)
  end
  return reply
end

algorithms[#algorithms + 1] = {
  type = 'hash', read = read_buckets, name = 'buckets', allow = allow_buckets,
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
  info = function(key, now, b)
    return {
      buckets_used(b, now, buckets_retention(b, max(0, expiry(key)))), b.newest - (#b.counts - 1) * b.width,
      b.newest + b.width - 1, b.width, b.n,
    }
  end,
}
