package main

import "fmt"

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
