-- Numbers. Lua counts in doubles, which hold every integer below 2^53.

-- While a library is loaded there are no globals, so these are set by the first call.
local call, try
local floor, min, max
local find, match, format

local function prepare()
  call, try = redis.call, redis.pcall
  floor, min, max = math.floor, math.min, math.max
  find, match, format = string.find, string.match, string.format
end

local INEXACT = 9007199254740992 -- 2^53
local MIN_SCORE, MAX_SCORE = 100000000000000, INEXACT
local MAX_WINDOW = 3155760000000 -- a hundred years in milliseconds
local MAX_BUCKETS = 1000

-- The first number of a reply that is not a decision: what is wrong with the key. The Go
-- code makes the text.
local HOLDS, FOREIGN, DIFFERS, CLOCK = -101, -102, -103, -104
local LARGE, FOREIGN_HOLD, NO_REFUND, SUM = -105, -106, -107, -108
local NOT_INTEGER, OVERFLOW, ADOPT_LARGE, ADOPT_SCORES, ENTRIES = -109, -110, -111, -112, -113
local HOLD_KEYS, LONG, NAMED_TWICE, OUTSIDE = -114, -115, -116, -117

-- Bits of a caller's options.
local ATMOST, PEEK, FULL, CHARGE = 1, 2, 4, 8

local function has(flags, bit) return flags % (bit + bit) >= bit end

-- only_wrong_type raises the error of a command, unless it says that the key has another type.
local function only_wrong_type(reply)
  if not find(reply.err, 'WRONGTYPE', 1, true) then
    error(reply, 0)
  end
end

local function now_ms()
  local time = call('TIME')
  return time[1] * 1000 + floor(time[2] / 1000)
end

-- expiry returns a key's expiry in unix milliseconds, below 1 if it has none. Engines
-- before Redis 7 only tell the time left, so they are asked until the clock stands still.
local function expiry(key)
  local at = try('PEXPIRETIME', key)
  if type(at) == 'number' then
    return at
  end
  local before, left
  repeat
    before = now_ms()
    left = call('PTTL', key)
  until now_ms() == before
  if left < 0 then
    return left
  end
  return before + left
end

-- integer returns the number that a text spells as Redis spells an int64, or nil. It is
-- exact if it is below 2^53.
local function integer(text)
  if text == '0' then
    return 0
  end
  if not find(text, '^%-?[1-9]%d*$') then
    return nil
  end
  local digits, most = text, '9223372036854775807'
  if find(text, '^%-') then
    digits, most = string.sub(text, 2), '9223372036854775808'
  end
  if #digits > 19 or #digits == 19 and digits > most then
    return nil
  end
  return tonumber(text)
end

local function is_large(n) return n >= INEXACT or n <= -INEXACT end

-- ceil_div returns the rounded-up quotient, 0 if the dividend is not positive.
local function ceil_div(a, divisor)
  if a <= 0 then
    return 0
  end
  return floor((a - 1) / divisor) + 1
end

local function floor_to(a, unit) return floor(a / unit) * unit end

-- mul_div returns a*b/divisor, rounded down, and whether there is a remainder. The three
-- numbers are not negative and below 2^53, and so must be the quotient.
local function mul_div(a, b, divisor)
  if a * b < INEXACT then
    local product = a * b
    return floor(product / divisor), product % divisor > 0
  end
  -- Horner's rule on the bits of a, with the remainder kept below the divisor.
  local whole, part = floor(b / divisor), b % divisor
  local quotient, rest = 0, 0
  local bit = 4503599627370496 -- 2^52
  while bit >= 1 do
    quotient = quotient + quotient
    if rest >= divisor - rest then
      rest, quotient = rest - (divisor - rest), quotient + 1
    else
      rest = rest + rest
    end
    if a >= bit then
      a, quotient = a - bit, quotient + whole
      if rest >= divisor - part then
        rest, quotient = rest - (divisor - part), quotient + 1
      else
        rest = rest + part
      end
    end
    bit = bit / 2
  end
  return quotient, rest > 0
end

-- until_gone shortens a wait if the key expires before its end.
local function until_gone(wait, now, expire)
  if expire > 0 then
    wait = min(wait, expire - now + 1)
  end
  return max(1, wait)
end

-- measure returns the units granted, what remains, the wait if it is -1 or 0, and how
-- many of the units used must leave before the call is admitted.
local function measure(capacity, used, cost, flags)
  local remaining, want = max(0, capacity - used), cost
  local at_most = has(flags, ATMOST)
  if at_most then
    want = 1
  end
  if want > capacity then
    return 0, remaining, -1, 0
  elseif want > capacity - used then
    return 0, remaining, 0, used - (capacity - want)
  elseif at_most then
    return min(cost, remaining), remaining, 0, 0
  end
  return cost, remaining, 0, 0
end

-- binds reports whether an answer with a wait and so much remaining replaces one before it as the binding
-- one.
local function binds(retry, remaining, retry_before, remaining_before)
  if retry ~= retry_before then
    return retry_before >= 0 and (retry < 0 or retry > retry_before)
  end
  return remaining < remaining_before
end

-- grows_after returns how many of the units used must leave before more remains, 0 if
-- none ever does.
local function grows_after(limit, used)
  if used == 0 or limit == 0 then
    return 0
  end
  return max(1, used - limit + 1)
end

-- recorder returns the record of an algorithm: decide without a look at the limit.
local function recorder(decide)
  return function(s, now, units)
    s.limit = math.huge
    local d = decide(s, now, units, 0)
    if d[1] < 0 then
      return d[1]
    elseif is_large(d[7]) then
      return LARGE
    end
  end
end

-- callers runs decide for each pair of cost and options in args from first on, and
-- returns their decisions one behind the other.
local function callers(args, first, decide, state, now)
  if #args == first + 1 then
    return decide(state, now, tonumber(args[first]), tonumber(args[first + 1]))
  end
  local reply, n = {}, 0
  for i = first, #args, 2 do
    for _, number in ipairs(decide(state, now, tonumber(args[i]), tonumber(args[i + 1]))) do
      n = n + 1
      reply[n] = number
    end
  end
  return reply
end
