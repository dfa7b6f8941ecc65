-- INCREX of integers. An int64 is a pair {high, low} with the value high*10^9 + low and
-- 0 <= low < 10^9, so that sums are exact.

local BASE = 1000000000

local function pair(text)
  local negative, digits = find(text, '^%-') ~= nil, match(text, '%d+')
  local high = tonumber(string.sub(digits, 1, -10)) or 0
  local low = tonumber(string.sub(digits, -9))
  if not negative then
    return { high, low }
  elseif low == 0 then
    return { -high, 0 }
  end
  return { -high - 1, BASE - low }
end

local function add(a, b, sign)
  local high, low = a[1] + sign * b[1], a[2] + sign * b[2]
  if low >= BASE then
    return { high + 1, low - BASE }
  elseif low < 0 then
    return { high - 1, low + BASE }
  end
  return { high, low }
end

local function above(a, b) return a[1] > b[1] or a[1] == b[1] and a[2] > b[2] end

local function text_of(a)
  local high, low, sign = a[1], a[2], ''
  if high < 0 then
    sign, high = '-', -high
    if low > 0 then
      high, low = high - 1, BASE - low
    end
  end
  if high == 0 then
    return sign .. format('%.0f', low)
  end
  return sign .. format('%.0f%09.0f', high, low)
end

local LEAST, MOST = { -9223372037, 145224192 }, { 9223372036, 854775807 }

-- set_deadline sets a value and a deadline: mode is '' for none, 'keep' for a deadline only
-- if there is none, 'set', or 'persist'. at is unix milliseconds, or from now on.
local function set_deadline(key, text, now, mode, at)
  if mode == 'persist' then
    call('SET', key, text)
  elseif mode == '' or mode == 'keep' and expiry(key) > 0 then
    call('SET', key, text, 'KEEPTTL')
  elseif at <= now then
    call('DEL', key)
  else
    call('SET', key, text, 'PXAT', at)
  end
end

-- key; by, lower and upper bound, 1 to saturate, mode, milliseconds, 1 if they count from
-- now. The reply is 0, the new value and its change, which may be any number.
local function increx(keys, args)
  local key, now = keys[1], now_ms()
  local by, lower, upper = pair(args[1]), pair(args[2]), pair(args[3])
  local text = try('GET', key)
  if text and type(text) ~= 'string' then
    only_wrong_type(text)
    return { FOREIGN, 0, 0 }
  elseif text and not integer(text) then
    return { NOT_INTEGER, 0, 0 }
  end
  local old = pair(text or '0')
  local sum = add(old, by, 1)
  local high, low = above(sum, MOST), above(LEAST, sum)
  if not high and not low then
    high, low = above(sum, upper), above(lower, sum)
  end
  if high or low then
    if args[4] ~= '1' then
      return { 0, text or '0', '0' }
    end
    sum = low and lower or upper
    by = add(sum, old, -1)
    if above(by, MOST) or above(LEAST, by) then
      return { OVERFLOW, 0, 0 }
    end
  end
  local at = tonumber(args[6])
  if args[7] == '1' then
    at = at + now
  end
  set_deadline(key, text_of(sum), now, args[5], at)
  return { 0, text_of(sum), text_of(by) }
end
