package main

import (
	"fmt"
	"slices"
)

// takeScript stands for RL.MRESERVE, and is the cheapest that others do: counters, as proxies of language
// models have them, whose window begins with its first call, so that twice the limit passes around its end.
// It takes one of ARGV[3] slots of the last key, for ARGV[2] ms as ARGV[4], at the instant ARGV[1], and then
// has a limit, a window and a cost for each other key. It remembers nothing of a call: one that is repeated
// takes its units twice.
const takeScript = `
local now, slots = tonumber(ARGV[1]), tonumber(ARGV[3])
local jobs, counters = KEYS[#KEYS], {unpack(KEYS, 1, #KEYS - 1)}
redis.call('ZREMRANGEBYSCORE', jobs, 0, now)
if redis.call('ZCARD', jobs) >= slots then
  return 0
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
redis.call('ZADD', jobs, now + ARGV[2], ARGV[4])
return 1
`

// correctScript stands for RL.MSETTLE: ARGV[i+1] is added to each counter, and the slot of ARGV[1] ends. The
// caller remembers the estimates. A window that has begun since is given back what was taken of the one
// before.
const correctScript = `
for i = 2, #ARGV do
  local by = tonumber(ARGV[i])
  if by ~= 0 and redis.call('INCRBY', KEYS[i-1], by) == by and redis.call('PTTL', KEYS[i-1]) < 0 then
    redis.call('DEL', KEYS[i-1]) -- its window is over
  end
end
redis.call('ZREM', KEYS[#KEYS], ARGV[1])
return 1
`

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

// The flows of a call that is limited in requests, tokens and money, and has one of ten slots. The tokens
// deny first, after 100 calls: limits are for calls that are corrected from 1500 to 1450 and from 40,000 to
// 39,000, and those of requests and money allow twice as many calls. Holds expire after a second, so that
// their end is among what is measured. The check of the answers settles what was denied, too: ours has no
// such hold, and the scripts give back less than a call takes.
var (
	fourKeys = "4 {{key}}:requests {{key}}:tokens {{key}}:money {{key}}:jobs "

	reserveAndSettle = slices.Concat(
		one("RL.MRESERVE "+fourKeys+"TERM 200 60000 COST 1 TERM 145050 60000 COST 1500 "+
			"TERM 7801000 2592000000 ALGO FIXED COST 40000 TERM SLOTS 10 LEASE 30000 HOLD 1000 ID {id}",
			"*6 :integer :verdict :integer :integer :integer :integer"),
		one("RL.MSETTLE "+fourKeys+"{id} 1 1450 39000 0",
			"*4/0 *2 :integer :0 *2 :integer :0 *2 :integer :0 *2 :0 :0"),
	)
	takeAndCorrect = slices.Concat(
		one("EVALSHA {take} "+fourKeys+"{now} 30000 10 {id} 200 60000 1 145050 60000 1500 "+
			"7801000 2592000000 40000", ":verdict"),
		one("EVALSHA {correct} "+fourKeys+"{id} 0 -50 -1000", ":1"),
	)
)

// termRows returns the rows of calls with a cost, against a script of the same effect, and of calls over
// several keys, against scripts in their place and against the documents' script over one key. The limit
// grows with the cost, so that all rows decide alike. The target of reserve-4 is 5 us, where that script
// takes 6.5.
func termRows() (list []row) {
	for _, cost := range []int64{1, 100, 10_000, 1_000_000} {
		q := perMinute
		q.cost = cost
		list = append(list, row{
			name: fmt.Sprint("cost-", cost), floor: 6, byName: true, quota: q, decides: true,
			sides: against(allowCost, evalCost),
			about: fmt.Sprintf("RL.ALLOW COST %d against a script of that effect", cost),
		})
	}
	return append(list, row{
		name: "reserve-4", about: "RL.MRESERVE and RL.MSETTLE over 4 keys", byName: true, decides: true,
		sides: []contender{
			{program: ourServer, flow: reserveAndSettle},
			{program: redisServer, flow: takeAndCorrect, suffix: "-counters"},
			{program: redisServer, flow: evalsha, suffix: "-script", floor: 1 / 0.77},
		},
	})
}
