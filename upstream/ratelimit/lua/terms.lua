-- Terms: what a call asks of a key. RL.ALLOW has one, RL.MALLOW and RL.MRESERVE one for each key. All terms
-- are decided before anything is written, since nothing is taken back if a function fails.

-- quotas_of reads a number of windows, limit, window ... from args. It returns the first limit and window,
-- all if there are several, and what follows. A window of the calendar, which stands alone, stays text.
local function quotas_of(args, at)
  local limit, window = tonumber(args[at + 1]), tonumber(args[at + 2]) or args[at + 2]
  if args[at] == '1' then
    return limit, window, nil, at + 3
  end
  local n, quotas = tonumber(args[at]), {}
  for i = 1, n do
    quotas[i] = { limit = tonumber(args[at + 2 * i - 1]), window = tonumber(args[at + 2 * i]) }
  end
  return limit, window, quotas, at + 2 * n + 1
end

-- allow_by returns the function of RL.ALLOW with an algorithm. key; number of windows, limit, window ...,
-- parameter, then cost, options for each caller. A term of one window is its own quota, and may become the
-- state.
local function allow_by(a)
  local open, decide, commit = a.open, a.decide, a.commit
  return function(keys, args)
    local now, limit, window, quotas, at = now_ms(), quotas_of(args, 1)
    local t = { limit = limit, window = window, quotas = quotas, param = tonumber(args[at]), expire = 0 }
    local s, refusal = open(keys[1], now, t)
    if refusal then
      return refusal
    end
    local reply = callers(args, at + 1, decide, s, now)
    commit(s, keys[1])
    return reply
  end
end

-- terms_of reads terms from args, each with the number of its algorithm and a cost before it.
local function terms_of(args, at, id)
  local terms = {}
  while at <= #args do
    local number, limit, window, quotas, after = tonumber(args[at]), quotas_of(args, at + 2)
    terms[#terms + 1] = {
      number = number, algo = algorithms[number], cost = tonumber(args[at + 1]), id = id, limit = limit,
      limit_text = args[at + 3], window = window, quotas = quotas, param = tonumber(args[after]), expire = 0,
    }
    at = after + 1
  end
  return terms
end

-- term_open returns the state of a term, or nil and the reply that refuses the key.
local function term_open(t, key, now)
  local s, refusal = t.algo.open(key, now, t)
  if refusal then
    refusal[#refusal + 1] = t.number
  end
  return s, refusal
end

-- term_decide returns the decision about a term. One without units is admitted unless more than its limit counts.
local function term_decide(t, s, now, how)
  if t.cost > 0 then
    return t.algo.decide(s, now, t.cost, how)
  end
  local d = t.algo.decide(s, now, 1, PEEK)
  d[1] = d[7] <= t.limit and 1 or 0
  if d[1] > 0 then
    d[4] = 0
  end
  return d
end

-- charge takes the units of a term that denied them all the same. It returns the reply that refuses, if any.
local function charge(t, key, now)
  local d, limit = t.d, t.limit
  local code = t.algo.record(t.state, now, t.cost)
  if code then
    return { code, 0, 0 }
  end
  t.algo.commit(t.state, key)
  d[7] = d[7] + t.cost
  d[3], d[5] = max(0, limit - d[7]), t.state.expire - now
end

-- take decides terms about keys and, if all admit, takes their units and sets their places. It returns the
-- binding term and whether it has taken them, or nil and the reply that refuses. hold is the key of a hold.
local function take(terms, keys, now, options, hold)
  local binding, b, peek = 1, nil, has(options, PEEK)
  local how = peek and PEEK or 0
  for i, t in ipairs(terms) do
    if i > 1 and keys[i] == hold then
      return nil, { NAMED_TWICE, i, 0 }
    end
    local s, refusal = term_open(t, keys[i], now)
    if refusal then
      return nil, refusal
    end
    local d = term_decide(t, s, now, how)
    if d[1] < 0 then
      return nil, { d[1], 0, 0 }
    end
    t.state, t.d = s, d
    if not b or binds(d[4], d[3], b[4], b[3]) then
      binding, b = i, d
    end
  end
  if b[1] == 0 and has(options, CHARGE) and not peek then
    local refusal = charge(terms[1], keys[1], now)
    if refusal then
      return nil, refusal
    end
  elseif b[1] == 0 then -- what others admitted becomes a peek, if it is answered
    for i, t in ipairs(has(options, FULL) and not peek and terms or {}) do
      if t.d[1] > 0 then
        t.d = t.algo.decide(term_open(t, keys[i], now), now, t.cost, PEEK)
      end
    end
  elseif not peek then
    for i, t in ipairs(terms) do
      t.place = t.cost > 0 and t.algo.commit(t.state, keys[i])
    end
    return binding, nil, true
  end
  return binding, nil, false
end

-- joint_reply returns the decision of the binding term, or with FULL those of all, and which one binds.
local function joint_reply(terms, binding, options)
  local reply = terms[binding].d
  if has(options, FULL) then
    reply = {}
    for _, t in ipairs(terms) do
      for _, number in ipairs(t.d) do
        reply[#reply + 1] = number
      end
    end
  end
  reply[#reply + 1] = binding
  return reply
end

-- keys; options, id, terms.
local function mallow(keys, args)
  local options, terms = tonumber(args[1]), terms_of(args, 3, args[2])
  local binding, refusal = take(terms, keys, now_ms(), options)
  return refusal or joint_reply(terms, binding, options)
end

-- first_reply returns what the call that made a hold answered, as joint_reply, but five numbers a term.
local function first_reply(h, options)
  local reply, first, last = {}, h.binding + 1, h.binding + 1
  if has(options, FULL) then
    first, last = 1, #h.terms
  end
  for i = first, last do
    local texts = h.terms[i].texts
    for _, text in ipairs({ texts[1], texts[2], texts[3], '0', texts[4] }) do
      reply[#reply + 1] = text
    end
  end
  reply[#reply + 1] = h.binding + 1
  return reply
end

local function longest(t)
  local window = t.window
  for _, q in ipairs(t.quotas or {}) do
    window = max(window, q.window)
  end
  return window
end

-- keys, hold's key; options, id, milliseconds, terms.
local function reserve(keys, args)
  local now, options, id = now_ms(), tonumber(args[1]), args[2]
  local h, refusal = hold_open(keys, id)
  if refusal then
    return refusal
  elseif h then
    return first_reply(h, options)
  end
  local terms, key, binding, taken = terms_of(args, 4, id), keys[#keys], nil, nil
  binding, refusal, taken = take(terms, keys, now, options, key)
  if refusal then
    return refusal
  elseif taken then
    h = { id_length = #id, binding = binding - 1, terms = {} }
    for i, t in ipairs(terms) do
      h.terms[i] = {
        name = string.upper(t.algo.name), key = keys[i], texts = {
          format('%.0f', t.d[1]), t.quotas and format('%.0f', t.d[2]) or t.limit_text,
          format('%.0f', t.d[3]), format('%.0f', t.d[5]), format('%.0f', t.param),
          format('%.0f', t.place), format('%.0f', longest(t)),
        },
      }
    end
    call('SET', key, hold_text(h), 'PXAT', now + tonumber(args[3]))
  end
  return joint_reply(terms, binding, options)
end

-- settle_term sets what a term of a hold counts, exceeds and releases, of actual units, and changes nothing
-- yet. It returns the reply that refuses, if any.
local function settle_term(t, h, key, now, actual)
  if is_large(h.units) or is_large(h.place) then
    return { LARGE, 0, 0 }
  end
  local s, refusal = term_open(t, key, now)
  if refusal then
    return refusal
  end
  t.state = s
  local held = t.algo.held(s, now, h)
  h.excess = 0
  if not t.algo.record then -- of slots
    h.counted, h.released = 0, held
    return
  end
  h.excess, h.released = max(actual - h.units, 0), min(max(h.units - actual, 0), held)
  -- Others may have added units at the place, and RL.REFUND may have taken some.
  h.counted = min(held - h.released, h.units - h.released) + h.excess
  if h.excess > 0 then
    local code = t.algo.record(s, now, h.excess) or is_large(actual) and LARGE
    if code then
      return { code, 0, 0 }
    end
  end
end

-- keys, hold's key; id, actual units of each key. The reply is 0 and for each key the units that count, the
-- excess and the units released, or empty without a hold.
local function settle(keys, args)
  local now, id = now_ms(), args[1]
  local h, refusal = hold_open(keys, id)
  if refusal then
    return refusal
  elseif not h then
    return {}
  end
  local reply, terms = { 0 }, {}
  if not h.settled then
    for i, held in ipairs(h.terms) do
      terms[i] = {
        number = held.number, algo = algorithms[held.number], limit = held.limit, window = held.window,
        param = held.param, id = id,
      }
      refusal = settle_term(terms[i], held, keys[i], now, tonumber(args[i + 1]))
      if refusal then
        return refusal
      end
    end
    for i, held in ipairs(h.terms) do
      local t = terms[i]
      if held.excess > 0 then
        t.algo.commit(t.state, keys[i])
      elseif held.released > 0 then
        t.algo.give_back(t.state, keys[i], now, held, held.released)
      end
      settle_texts(held, format('%.0f', held.counted), format('%.0f', held.excess),
        format('%.0f', held.released))
    end
    h.settled = true
    call('SET', h.key, hold_text(h), 'KEEPTTL')
  end
  for _, held in ipairs(h.terms) do
    for n = 5, 7 do
      reply[#reply + 1] = held.texts[n]
    end
  end
  return reply
end
