-- LOG: a sorted set with a member for each entry, which is its score or, from some score on,
-- the score, a colon and units. If the newest entry is plain, all are: then a call reads the
-- two ends of the set, its size, and per window one count and one unit: O(log n). Otherwise
-- it reads all entries, of which there may be MAX_WEIGHTED. What the callers of one call are
-- granted is written together.

local MAX_WEIGHTED = 100000
local CHUNK = 1000 -- most members in a ZADD: unpack has a bound

-- log_entry returns the score and the units of an entry with a member and a score, and
-- whether it has the weighted form, or false for any other.
local function log_entry(member, text)
  local score = tonumber(text)
  if score < MIN_SCORE or score >= MAX_SCORE then
    return false
  end
  local plain = format('%.0f', score)
  if member == plain and tonumber(member) == score then
    return score, 1, false
  end
  local head, units = match(member, '^(%d+):([1-9]%d*)$')
  if head ~= plain or tonumber(head) ~= score or #units > 16 or tonumber(units) >= INEXACT then
    return false
  end
  return score, tonumber(units), true
end

-- log_end returns log_entry for the member of rank 0 or -1 of a sorted set, nil if the key
-- does not exist, and the member.
local function log_end(key, rank)
  local unit = try('ZRANGE', key, rank, rank, 'WITHSCORES')
  if unit.err then
    only_wrong_type(unit)
    return false
  elseif not unit[1] then
    return nil
  end
  local score, units, weighted = log_entry(unit[1], unit[2])
  return score, units, weighted, unit[1]
end

-- log_load reads all entries. k.sums[i] is how many units the first i have. It returns the
-- reply that refuses the key, if any.
local function log_load(k)
  if k.stored > MAX_WEIGHTED then
    return { ENTRIES, 0, 0 }
  end
  local members, sums, sum = call('ZRANGE', k.key, 0, -1), {}, 0
  for i, member in ipairs(members) do
    local colon, units = find(member, ':', 1, true), 1
    if colon then
      units = tonumber(string.sub(member, colon + 1))
      if not units then
        return foreign('zset')
      end
    end
    sum = sum + units
    sums[i] = sum
  end
  sums[0] = 0
  k.members, k.sums = members, sums
end

-- log_score returns the score of the i-th entry that was read.
local function log_score(k, i) return tonumber(match(k.members[i], '^%d+')) or 0 end

-- log_first returns the first entry in order for which a function of its number holds, one
-- behind the last if none.
local function log_first(k, holds)
  local low, high = 1, #k.members + 1
  while low < high do
    local middle = floor((low + high) / 2)
    if holds(middle) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- log_index returns the first entry that was read with at least a score.
local function log_index(k, score)
  return log_first(k, function(i) return log_score(k, i) >= score end)
end

-- log_open returns a log at an instant, or the reply that refuses the key.
local function log_open(key, now, quotas)
  local k = {
    key = key, now = now, quotas = quotas, counts = {}, held = 0, expire = 0, old_expire = 0,
    pending = 0, longest = 0, grants = {},
  }
  for _, q in ipairs(quotas) do
    k.longest = max(k.longest, q.window)
  end
  local oldest = log_end(key, 0)
  if oldest == nil then
    return k
  end
  local newest, units, weighted, member = nil, nil, nil, nil
  if oldest then
    newest, units, weighted, member = log_end(key, -1)
  end
  if not newest then
    return nil, wrong_state(key)
  end
  k.stored = call('ZCARD', key)
  k.stored_oldest, k.stored_newest = oldest, newest
  k.newest_units, k.newest_member, k.weighted = units, member, weighted
  local refusal = weighted and log_load(k)
  if refusal then
    return nil, refusal
  end
  k.expire = max(0, expiry(key))
  k.old_expire = k.expire
  if k.expire > 0 and now > k.expire then
    k.expired = true
  else
    k.held, k.oldest, k.newest = weighted and k.sums[k.stored] or k.stored, oldest, newest
  end
  return k
end

-- log_after returns how many units in the key have at least a score.
local function log_after(k, score)
  if k.weighted then
    return k.sums[k.stored] - k.sums[log_index(k, score) - 1]
  end
  return call('ZCOUNT', k.key, score, '+inf')
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
    n = log_after(k, from)
    k.counts[window] = n
  end
  return n
end

-- log_unit returns the score of the n-th of the units that count in a window.
local function log_unit(k, window, n)
  local stored = log_stored(k, window)
  if n > stored then
    return k.first
  end
  local rank = k.held - stored + n - 1
  if rank == 0 then
    return k.oldest
  elseif rank == k.held - 1 then
    return k.stored_newest
  elseif not k.weighted then
    return tonumber(call('ZRANGE', k.key, rank, rank)[1])
  end
  return log_score(k, log_first(k, function(i) return k.sums[i] > rank end))
end

local function log_wait(k, score, window)
  return until_gone(floor(score / 1000) - k.now + window, k.now, k.expire)
end

-- log_keep returns how long a unit is held after its own millisecond, for the longest of
-- some windows.
local function log_keep(k, longest)
  if k.held > 0 and k.expire > 0 then
    return max(longest, k.expire - floor(k.stored_newest / 1000))
  end
  return longest
end

-- log_place returns the score of the entry for units, or nil and the code of a reply: a new
-- one, or the newest if its millisecond has no score left.
local function log_place(k, units)
  local score = k.now * 1000
  if k.newest and score <= k.newest then
    score = k.newest + 1
    if score % 1000 == 0 then
      score = k.newest
    end
  end
  if not k.drop then
    k.keep = log_keep(k, k.longest)
    k.drop = (k.now - k.keep + 1) * 1000 - 1
    if k.expired then
      k.drop = max(k.drop, k.stored_newest)
    end
  end
  if score < MIN_SCORE or score >= MAX_SCORE then
    return nil, CLOCK
  elseif units > INEXACT - 1 - k.held - k.pending then
    local kept = k.weighted and k.held > 0 and log_after(k, k.drop + 1) or 0
    if units > INEXACT - 1 - kept - k.pending then
      return nil, SUM
    end
  end
  return score
end

-- log_record counts units without checking a limit. It returns the code of a reply if it
-- could not.
local function log_record(k, _, units)
  local score, code = log_place(k, units)
  if not score then
    return code
  end
  local grants = k.grants
  if score ~= k.newest then
    grants[#grants + 1] = { score, units }
    k.first = k.first or score
  elseif #grants > 0 then
    grants[#grants][2] = grants[#grants][2] + units
  else
    k.merged, k.first = units + (k.merged or 0), score
  end
  k.pending, k.newest = k.pending + units, score
  k.expire = floor(score / 1000) + k.keep
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
    if not binding or binds(wait, r, retry, remaining) then
      allowed, remaining, retry, used, binding = a, r, wait, u, q
    end
  end
  local window, reset, next_after = binding.window, 0, 0
  if used > 0 then
    reset = log_wait(k, k.newest, window)
  end
  if allowed > 0 then
    local peek, _, code = has(flags, PEEK), nil, nil
    if peek then
      _, code = log_place(k, allowed)
    else
      code = log_record(k, k.now, allowed)
    end
    if code then
      return { code, 0, 0, 0, 0, 0, 0, 0 }
    elseif not peek then
      used, remaining = used + allowed, remaining - allowed
      reset = floor(k.newest / 1000) - k.now + window
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

local function weighted_member(score, units) return format('%.0f:%.0f', score, units) end

-- log_commit writes what the callers were granted. There are never as many as CHUNK. It returns the first
-- score.
local function log_commit(k)
  if k.pending == 0 then
    return
  end
  local key, emptied = k.key, not k.stored
  if k.stored and k.drop >= k.stored_oldest then
    call('ZREMRANGEBYSCORE', key, '-inf', k.drop)
    emptied = k.drop >= k.stored_newest
  end
  local weighted, words = k.weighted and not emptied, {}
  if k.merged then
    call('ZREM', key, k.newest_member)
    words = { k.first, weighted_member(k.first, k.newest_units + k.merged) }
    emptied = true -- it may have been the only one
  end
  for _, grant in ipairs(k.grants) do
    local score, units = grant[1], grant[2]
    weighted = weighted or units > 1
    words[#words + 1] = score
    words[#words + 1] = weighted and weighted_member(score, units) or score
  end
  call('ZADD', key, unpack(words))
  if emptied or k.expire ~= k.old_expire then
    call('PEXPIREAT', key, k.expire)
  end
  return k.first
end

-- log_from returns a score, or the first that still counts for some window if that is above.
local function log_from(k, first)
  if k.expire > 0 then
    first = max(first, (k.now - log_keep(k, 0) + 1) * 1000)
  end
  return first
end

-- log_held returns how many units between two scores still count for some window.
local function log_held(k, first, last)
  first = log_from(k, first)
  if not k.stored or first > last then
    return 0
  end
  return log_after(k, first) - log_after(k, last + 1)
end

-- log_remove removes the newest n of those units and returns their number. The key's
-- retention does not change. Nothing else may be asked of k afterwards.
local function log_remove(k, n, first, last)
  local removed = min(n, log_held(k, first, last))
  if removed <= 0 then
    return 0
  end
  local key, keep, gone = k.key, log_keep(k, 0), false
  if k.weighted then
    local through = log_index(k, last + 1) - 1
    local kept = k.sums[through] - removed -- units, the last of them perhaps in a part of an entry
    local i = log_first(k, function(at) return k.sums[at] > kept end)
    local part = kept - k.sums[i - 1]
    if part > 0 then
      local score = log_score(k, i)
      call('ZREM', key, k.members[i])
      call('ZADD', key, score, weighted_member(score, part))
      gone, i = true, i + 1 -- it may have been the only one
    end
    if i <= through then
      call('ZREMRANGEBYSCORE', key, log_score(k, i), log_score(k, through))
    end
  else
    local through = k.stored - call('ZCOUNT', key, last + 1, '+inf')
    call('ZREMRANGEBYRANK', key, through - removed, through - 1)
  end
  local newest = call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  if k.expire > 0 and newest then
    local at = floor(tonumber(newest) / 1000) + keep
    if gone or at ~= k.expire then
      call('PEXPIREAT', key, at)
    end
  end
  return removed
end

algorithms[#algorithms + 1] = {
  type = 'zset', read = function(key) return log_end(key, 0) and log_end(key, -1) end,
  name = 'log', decide = log_decide, record = log_record, commit = log_commit,
  open = function(key, now, t) return log_open(key, now, t.quotas or { t }) end,
  valid_held = function(h)
    return h.units < INEXACT and h.place >= MIN_SCORE and h.place < MAX_SCORE and h.last < MAX_SCORE
  end,
  held = function(k, _, h) return log_held(k, h.place, h.last) end,
  give_back = function(k, _, _, h, n) log_remove(k, n, h.place, h.last) end,
  refund = function(key, now, n)
    local k, refusal = log_open(key, now, {})
    return refusal or { log_remove(k, n, MIN_SCORE, MAX_SCORE - 1) }
  end,
  info = function(key, now)
    local k = log_open(key, now, {})
    if not k then
      return { false, false, false }
    end
    local keep = MAX_WINDOW
    if k.expire > 0 then
      keep = log_keep(k, 0)
    end
    return { log_stored(k, keep), floor(k.stored_oldest / 1000), floor(k.stored_newest / 1000) }
  end,
}
