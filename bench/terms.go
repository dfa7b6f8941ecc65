package main

import (
	"fmt"
	"strings"
)

// logsScript is the limiter of the documents over several keys, for calls with a cost for each: what
// RL.MALLOW does with terms. It adds up what the members say, and as the documents' script leaves expiry to
// others.
const logsScript = `
local now = tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, 0, now - ARGV[3*i])
  local used = tonumber(ARGV[3*i+1])
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    used = used + tonumber(string.match(member, '%d+$'))
  end
  if used > tonumber(ARGV[3*i-1]) then
    return 0
  end
end
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[1] .. ':' .. ARGV[3*i+1])
end
return 1
`

// countersScript is the cheapest rival: a counter for each key, as proxies of language models have, whose
// window begins with its first call. Twice the limit passes around the end of a window, and the answer has
// no remaining units and no wait.
const countersScript = `
local used = redis.call('MGET', unpack(KEYS))
for i, n in ipairs(used) do
  if (tonumber(n) or 0) + ARGV[3*i] > tonumber(ARGV[3*i-2]) then
    return 0
  end
end
for i, key in ipairs(KEYS) do
  redis.call('INCRBY', key, ARGV[3*i])
  if not used[i] then
    redis.call('PEXPIRE', key, ARGV[3*i-1])
  end
end
return 1
`

// takeScript is countersScript, and takes one of ARGV[3] slots of the last key, for ARGV[2] ms as ARGV[4],
// unless ARGV[3] is 0. The instant is ARGV[1]. It stands for RL.RESERVE and RL.MRESERVE, but remembers
// nothing of a call: one that is repeated takes its units twice.
const takeScript = `
local now, slots = tonumber(ARGV[1]), tonumber(ARGV[3])
local counters = KEYS
if slots > 0 then
  local jobs = KEYS[#KEYS]
  redis.call('ZREMRANGEBYSCORE', jobs, 0, now)
  if redis.call('ZCARD', jobs) >= slots then
    return 0
  end
  counters = {unpack(KEYS, 1, #KEYS - 1)}
end
local used = redis.call('MGET', unpack(counters))
for i, n in ipairs(used) do
  if (tonumber(n) or 0) + ARGV[3*i+4] > tonumber(ARGV[3*i+2]) then
    return 0
  end
end
for i, key in ipairs(counters) do
  redis.call('INCRBY', key, ARGV[3*i+4])
  if not used[i] then
    redis.call('PEXPIRE', key, ARGV[3*i+3])
  end
end
if slots > 0 then
  redis.call('ZADD', KEYS[#KEYS], now + ARGV[2], ARGV[4])
end
return 1
`

// correctScript stands for RL.SETTLE and RL.MSETTLE: ARGV[i+1] is added to each counter, and the slot of
// ARGV[1], if any, ends. The caller remembers the estimates. A window that has begun since is given back what
// was taken of the one before.
const correctScript = `
for i = 2, #ARGV do
  local by = tonumber(ARGV[i])
  if by ~= 0 and redis.call('INCRBY', KEYS[i-1], by) == by and redis.call('PTTL', KEYS[i-1]) < 0 then
    redis.call('DEL', KEYS[i-1]) -- its window is over
  end
end
if #KEYS == #ARGV then
  redis.call('ZREM', KEYS[#KEYS], ARGV[1])
end
return 1
`

// A dimension is one of the things that a call is limited in, and a key of its own. Its limit is for
// perMinute.limit calls, and what a call takes is corrected to actual.
type dimension struct {
	name             string
	windowMs         int64
	estimate, actual int64
	algo             string
	loose            bool // its limit is twice that
}

// limit returns a limit that as many calls as perMinute allows fit in, one after the other, and no more.
func (d dimension) limit(corrected bool) int64 {
	calls, each := perMinute.limit, d.estimate
	if corrected {
		each = d.actual
	}
	if d.loose {
		calls *= 2
	}
	return (calls-1)*each + d.estimate
}

func (d dimension) key() string { return "{{key}}:" + d.name }

// Windows and amounts of what users limit.
const (
	minute = 60_000
	hour   = 60 * minute
	month  = 30 * 24 * hour

	slots   = 10
	leaseMs = 30_000
	holdMs  = 1000 // short, so that holds also expire in a round
)

// termsFlows returns RL.MALLOW with n terms, all of them logs, and the scripts of that effect. The last term
// denies first.
func termsFlows(n int) (ours, logs, counters flow) {
	var keys, terms, triples []string
	for i := range n {
		d := [...]dimension{
			{name: "requests", windowMs: minute, estimate: 1},
			{name: "tokens", windowMs: minute, estimate: 1500},
			{name: "hour", windowMs: hour, estimate: 1500},
			{name: "money", windowMs: month, estimate: 40_000},
		}[i%4]
		d.name, d.loose = fmt.Sprint(d.name, i), i < n-1
		keys = append(keys, d.key())
		terms = append(terms, fmt.Sprintf("TERM %d %d COST %d", d.limit(false), d.windowMs, d.estimate))
		triples = append(triples, fmt.Sprint(d.limit(false), d.windowMs, d.estimate))
	}
	all, bound := fmt.Sprint(n, " ", strings.Join(keys, " "), " "), strings.Join(triples, " ")
	decision := append([]line{{"*6", nothing}, {":", integer}}, rlAllow[0].replies[1:]...)
	answer := []line{{":", verdict}}
	return flow{{[]string{"RL.MALLOW " + all + strings.Join(terms, " ")}, decision}},
		flow{{[]string{"EVALSHA {logs} " + all + "{now} " + bound}, answer}},
		flow{{[]string{"EVALSHA {counters} " + all + bound}, answer}}
}

// reserved are the dimensions of a call over n keys without slots: requests, tokens and money, of a user, a
// team and so on. The last key of tokens denies first.
func reserved(n int) (list []dimension) {
	if n == 1 {
		return []dimension{{name: "tokens", windowMs: minute, estimate: 1500, actual: 1450}}
	}
	for scope := range n / 3 {
		of := fmt.Sprint(scope)
		list = append(list,
			dimension{name: "requests" + of, windowMs: minute, estimate: 1, actual: 1, loose: true},
			dimension{
				name: "tokens" + of, windowMs: minute, estimate: 1500, actual: 1450, loose: (scope+1)*3 < n,
			},
			dimension{
				name: "money" + of, windowMs: month, estimate: 40_000, actual: 39_000, loose: true,
				algo: " ALGO FIXED",
			})
	}
	return list
}

// reserveFlows returns a hold over n keys that is then settled, and the scripts in its place. If n is not 1
// the last key has slots. The check of the answers settles what was denied, too: ours has no such hold, and
// the scripts give back less than a call takes.
func reserveFlows(n int) (ours, counters flow) {
	list, withSlots := reserved(n), 0
	if n > 1 {
		list, withSlots = reserved(n-1), slots
	}
	var keys, terms, triples, actuals, differences []string
	settled := []line{{fmt.Sprint("*", n), orZero}}
	for _, d := range list {
		keys = append(keys, d.key())
		terms = append(terms,
			fmt.Sprintf("TERM %d %d%s COST %d", d.limit(true), d.windowMs, d.algo, d.estimate))
		triples = append(triples, fmt.Sprint(d.limit(true), d.windowMs, d.estimate))
		actuals = append(actuals, fmt.Sprint(d.actual))
		differences = append(differences, fmt.Sprint(d.actual-d.estimate))
		settled = append(settled, line{"*2", nothing}, line{":", integer}, line{":0", nothing})
	}
	if n > 1 {
		keys = append(keys, dimension{name: "jobs"}.key())
		terms = append(terms, fmt.Sprintf("TERM SLOTS %d LEASE %d", slots, leaseMs))
		actuals = append(actuals, "0")
		settled = append(settled, line{"*2", nothing}, line{":0", nothing}, line{":0", nothing})
	}
	all := fmt.Sprint(n, " ", strings.Join(keys, " "), " ")
	hold := fmt.Sprintf(" HOLD %d ID {id}", holdMs)
	call := "RL.MRESERVE " + all + strings.Join(terms, " ") + hold
	settle := "RL.MSETTLE " + all + "{id} " + strings.Join(actuals, " ")
	decision := append([]line{{"*6", nothing}, {":", integer}}, rlAllow[0].replies[1:]...)
	if d := list[0]; n == 1 {
		call = fmt.Sprintf("RL.RESERVE %s %d %d %d%s", keys[0], d.limit(true), d.windowMs, d.estimate, hold)
		settle = fmt.Sprintf("RL.SETTLE %s {id} %d", keys[0], d.actual)
		decision = rlAllow[0].replies
		settled = []line{{"*2", orZero}, {":", integer}, {":0", nothing}}
	}
	take := fmt.Sprintf("EVALSHA {take} %s{now} %d %d {id} %s", all, leaseMs, withSlots,
		strings.Join(triples, " "))
	correct := "EVALSHA {correct} " + all + "{id} " + strings.Join(differences, " ")
	return flow{{[]string{call}, decision}, {[]string{settle}, settled}},
		flow{{[]string{take}, []line{{":", verdict}}}, {[]string{correct}, []line{{":1", nothing}}}}
}

// termRows returns the rows of calls over several keys, against scripts in their place, and against the
// documents' script over one key. An operation of reserve- is both calls. Its target against that script is
// 5 us for four keys where the script takes 6.5, and four times that for sixteen.
func termRows() (list []row) {
	base := row{
		pipeline: 16, connections: 50, keys: 10_000, quota: perMinute, mix: admitting, renew: true,
	}
	for _, n := range []int{2, 4, 16} {
		ours, logs, counters := termsFlows(n)
		r := base
		r.name = fmt.Sprint("terms-", n)
		r.about = fmt.Sprintf("RL.MALLOW with %d terms of LOG", n)
		r.sides = []contender{
			{program: ourServer, flow: ours},
			{program: redisServer, flow: counters, suffix: "-counters"},
			{program: redisServer, flow: logs, suffix: "-logs"},
		}
		list = append(list, r)
	}
	for _, n := range []int{1, 4, 16} {
		ours, counters := reserveFlows(n)
		r := base
		r.name = fmt.Sprint("reserve-", n)
		r.about = fmt.Sprintf("RL.MRESERVE and RL.MSETTLE over %d keys", n)
		if n == 1 {
			r.about = "RL.RESERVE and RL.SETTLE"
		}
		r.sides = []contender{
			{program: ourServer, flow: ours},
			{program: redisServer, flow: counters, suffix: "-counters"},
			{
				program: redisServer, flow: evalsha, suffix: "-script",
				atMost: map[int]float64{4: 0.77, 16: 3.08}[n],
			},
		}
		list = append(list, r)
	}
	return list
}

// costScript is the limiter of the documents for calls of a cost: it adds up what the members say.
const costScript = `
local key = KEYS[1]
local now = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local limit = tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local used = 0
for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
  used = used + tonumber(string.match(member, '%d+$'))
end
if used + cost > limit then
  return tostring(0)
end
redis.call('ZADD', key, now, ARGV[1] .. ':' .. ARGV[4])
return tostring(1)
`

// costRows returns the rows of RL.ALLOW with a cost, against a script of the same effect. The limit grows
// with the cost, so that all rows decide alike.
func costRows() (list []row) {
	for _, cost := range []int64{1, 100, 10_000, 1_000_000} {
		q := perMinute
		q.cost = cost
		list = append(list, row{
			name: fmt.Sprint("cost-", cost), floor: 6,
			about:    fmt.Sprintf("RL.ALLOW COST %d against a script of that effect", cost),
			pipeline: 16, sides: against(allowCost, evalCost), connections: 50, keys: 10_000, quota: q,
			mix: admitting, renew: true,
		})
	}
	return list
}
