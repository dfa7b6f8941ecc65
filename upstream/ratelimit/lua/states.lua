-- States: what a key holds. Each algorithm adds a row, in the order of the Go code's list: the type of its
-- keys, read, info, and refund if RL.ALLOW accepts it. read gets the key and its text if it is a string. It
-- returns the state, or nil for other content, and whether a number in it is too large to count with.
--
-- A row of an algorithm that terms have, see terms.lua, has name and what a content has in the Go code:
--   open(key, now, t)                returns a key's state for a term, or nil and the reply that refuses it
--   decide(s, now, cost, options)    returns a decision. Without PEEK the state is then that after it
--   commit(s, key)                   writes what has changed, and returns the place of what was taken
--   record(s, now, units)            takes units whatever the limit says, or returns the code of a reply
--   valid_held(h)                    reports whether a hold can have such a term; nil: any
--   held(s, now, h)                  returns how many of the units of a term of a hold still count
--   give_back(s, key, now, h, n)     gives n of them back, at least 1
-- A decision is eight numbers: units allowed, limit, remaining, retry, reset and next in ms, used, window;
-- of GCRA without limit and window. If the first is a code the others mean nothing. Only commit and
-- give_back write.

local algorithms = {}

-- algorithm_of returns the number of the algorithm whose state a key of a type holds, and
-- the results of its read.
local function algorithm_of(key, kind)
  local text = kind == 'string' and call('GET', key)
  for number, a in ipairs(algorithms) do
    if a.type == kind then
      local state, large = a.read(key, text)
      if state then
        return number, state, large
      end
    end
  end
end

-- algorithm_named returns the number of the algorithm with a name.
local function algorithm_named(name)
  for number, a in ipairs(algorithms) do
    if a.name == name then
      return number
    end
  end
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
    state, large = read(key, text)
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
