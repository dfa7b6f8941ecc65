-- Holds: what terms took, whose numbers RL.SETTLE corrects, as a string that knows how much and where.

local MAX_TERMS = 16

-- Patterns of numbers, and of a term up to the length of its key.
local NUMBER = ' (%-?%d+)'
local NUMBERS_3 = NUMBER .. NUMBER .. NUMBER
local NUMBERS_7 = NUMBERS_3 .. NUMBERS_3 .. NUMBER
local TERM_OPEN, TERM_SETTLED = '^ (%u+)' .. NUMBERS_7 .. '()', '^' .. NUMBERS_7 .. '()'

local function are_integers(texts)
  for _, text in ipairs(texts) do
    if not integer(text) then
      return false
    end
  end
  return true
end

-- held_term returns a term of a hold that is open, nil if its numbers are beyond the limiter's bounds: users
-- can write such strings. texts are its units, limit, remaining, reset, parameter, place and window. What is
-- only handed on stays text. run says that the units are plain entries from the place on.
local function held_term(name, texts, run)
  if not are_integers(texts) then
    return nil
  end
  local h = {
    name = name, texts = texts, number = algorithm_named(string.lower(name)), units = tonumber(texts[1]),
    limit = tonumber(texts[2]), param = tonumber(texts[5]), place = tonumber(texts[6]),
    window = tonumber(texts[7]),
  }
  h.last = h.place + (run and h.units - 1 or 0)
  local valid = h.number and algorithms[h.number].valid_held
  if not h.number or h.units < 1 or h.window < 1 or h.window >= MAX_WINDOW or h.limit < 1 or
    valid and not valid(h) then
    return nil
  end
  return h
end

-- settle_texts makes the texts of a term those of one that is settled: units, limit, remaining, reset,
-- counted, excess, released.
local function settle_texts(term, counted, excess, released)
  term.texts[5], term.texts[6], term.texts[7] = counted, excess, released
end

-- read_old_hold returns the state of a hold that 0.1.0 made.
local function read_old_hold(text)
  local texts = { match(text, '^hold' .. NUMBERS_7 .. ' held$') }
  local settled = not texts[1]
  if settled then
    texts = { match(text, '^hold' .. NUMBERS_7 .. ' settled' .. NUMBERS_3 .. '$') }
  end
  local id_length = texts[1] and integer(texts[1])
  if not id_length then
    return nil
  end
  local term = held_term('LOG', {
    texts[3], texts[5], texts[6], texts[7], '0', texts[2], texts[4],
  }, not settled)
  if term and settled then
    if not are_integers({ texts[8], texts[9], texts[10] }) then
      return nil
    end
    settle_texts(term, texts[8], texts[9], texts[10])
  end
  return term and { id_length = id_length, settled = settled, binding = 0, terms = { term } }
end

-- read_term returns a term that begins at a place of a hold's text, and the place behind it, or nil.
local function read_term(text, at, settled)
  local texts = { match(text, settled and TERM_SETTLED or TERM_OPEN, at) }
  at = table.remove(texts)
  if not at then
    return nil
  elseif not settled then
    return held_term(table.remove(texts, 1), texts), at
  end
  return are_integers(texts) and { texts = texts } or nil, at
end

-- read_hold returns the state of a hold.
local function read_hold(_, text)
  local id_length, state, binding, n, at = match(text, '^hold (%-?%d+) (%l+) (%-?%d+) (%-?%d+)()')
  if not id_length then
    return read_old_hold(text)
  end
  local h = {
    id_length = integer(id_length), settled = state == 'settled', binding = integer(binding), terms = {},
  }
  n = integer(n)
  if not h.id_length or not h.binding or not n or not h.settled and state ~= 'open' or n < 1 or
    n > MAX_TERMS or h.binding < 0 or h.binding >= n then
    return nil
  end
  for i = 1, n do
    local term
    term, at = read_term(text, at, h.settled)
    if not term then
      return nil
    elseif i > 1 then
      local length, from = match(text, '^ (%d+):()', at)
      length = length and integer(length)
      if not length or from + length - 1 > #text then
        return nil
      end
      term.key, at = string.sub(text, from, from + length - 1), from + length
    end
    h.terms[i] = term
  end
  if at <= #text then
    return nil
  end
  return h
end

-- hold_text returns what read_hold reads.
local function hold_text(h)
  local parts = {
    format('hold %.0f %s %.0f %.0f', h.id_length, h.settled and 'settled' or 'open', h.binding, #h.terms),
  }
  for i, term in ipairs(h.terms) do
    local texts = table.concat(term.texts, ' ')
    parts[#parts + 1] = h.settled and texts or term.name .. ' ' .. texts
    if i > 1 then
      parts[#parts + 1] = #term.key .. ':' .. term.key
    end
  end
  return table.concat(parts, ' ')
end

-- hold_open returns the state of the hold of an id over keys, the last of which is the hold's, nil if there
-- is none, or the reply that refuses it. Holds of 0.1.0 have another key, which a cluster may have
-- elsewhere.
local function hold_open(keys, id)
  local key = keys[#keys]
  local text = try('GET', key)
  if not text and not find(keys[1], '[{}]') then
    key = keys[1] .. ':hold:' .. id
    text = try('GET', key)
    if text and type(text) ~= 'string' and not find(text.err, 'WRONGTYPE', 1, true) then
      text = nil
    end
  end
  if not text then
    return nil
  elseif type(text) ~= 'string' then
    only_wrong_type(text)
    return nil, { FOREIGN, 0, 0 }
  end
  local h = read_hold(key, text)
  if not h or h.id_length ~= #id then
    return nil, { FOREIGN_HOLD, 0, 0 }
  elseif #h.terms ~= #keys - 1 then
    return nil, { HOLD_KEYS, 0, 0 }
  end
  for i = 2, #h.terms do
    if h.terms[i].key ~= keys[i] then
      return nil, { HOLD_KEYS, 0, 0 }
    end
  end
  h.key = key
  return h
end

algorithms[#algorithms + 1] = {
  type = 'string', read = read_hold,
  info = function(_, _, h) return { h.terms[1].texts[1], false, false } end,
}
