package main

import (
	"crypto/sha1"
	_ "embed" // library.lua
	"encoding/hex"
)

// script is the limiter of the documents as one atomic step: drop what has left the
// window, count, add if there is room. It answers "1" or "0" as a string.
const script = `
local key = KEYS[1]
local now = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local limit = tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local held = redis.call('ZCARD', key)
if held >= limit then
  return tostring(0)
end
redis.call('ZADD', key, tostring(now), now)
return tostring(1)
`

// libraryScript is the same limiter as libraries write it: with functions, pcall, a quota in JSON, checked
// arguments and formatted texts.
//
//go:embed library.lua
var libraryScript string

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

func scriptSHA() string { return shaOf(script) }

// The flows. Replies are those of RESP2.
var (
	ping = flow{{[]string{"PING"}, []line{{"+PONG", nothing}}}}

	// [allowed, limit, remaining, retry_after_ms, reset_after_ms]
	rlAllow = flow{{
		[]string{"RL.ALLOW {key} {limit} {window}"},
		[]line{
			{"*5", nothing},
			{":", verdict},
			{":", integer},
			{":", integer},
			{":", integer},
			{":", integer},
		},
	}}

	// The same with a cost; see terms.go.
	allowCost = flow{{[]string{"RL.ALLOW {key} {limit} {window} COST {cost}"}, rlAllow[0].replies}}

	evalCost = flow{{
		[]string{"EVALSHA {costs} 1 {key} {now} {window} {limit} {cost}"},
		[]line{{"$1", nothing}, {"", verdict}},
	}}

	evalsha = flow{{
		[]string{"EVALSHA {sha} 1 {key} {now} {window} {limit}"},
		[]line{{"$1", nothing}, {"", verdict}},
	}}

	library = flow{{
		[]string{"EVALSHA {library} 1 {key} {now} [{window},{limit}]"},
		[]line{{"$1", nothing}, {"", verdict}},
	}}

	// The documents' transaction adds first and counts afterwards.
	multi = flow{{
		[]string{
			"MULTI", "ZADD {key} {now} {now}", "ZREMRANGEBYSCORE {key} 0 {cut}", "ZCARD {key}",
			"EXPIRE {key} {seconds}", "EXEC",
		},
		[]line{
			{"+OK", nothing},
			{"+QUEUED", nothing},
			{"+QUEUED", nothing},
			{"+QUEUED", nothing},
			{"+QUEUED", nothing},
			{"*4", nothing},
			{":", integer},
			{":", integer},
			{":", within},
			{":1", nothing},
		},
	}}

	// Four round trips, as a client without pipeline or script makes them. It adds even
	// if the count forbids it, which never happens in a row that admits.
	fourCommands = flow{
		{[]string{"ZREMRANGEBYSCORE {key} 0 {cut}"}, []line{{":", integer}}},
		{[]string{"ZCARD {key}"}, []line{{":", below}}},
		{[]string{"ZADD {key} {now} {now}"}, []line{{":", integer}}},
		{[]string{"EXPIRE {key} {seconds}"}, []line{{":1", nothing}}},
	}

	// The documents' flow in one write, on a window of constant size.
	sliding = flow{{
		[]string{"ZREMRANGEBYSCORE {key} 0 {cut}", "ZADD {key} {now} {now}", "ZCARD {key}"},
		[]line{{":", integer}, {":", integer}, {":", within}},
	}}

	zadd = flow{{[]string{"ZADD {key} {now} {now}"}, []line{{":", integer}}}}

	// The counter of a fixed window: two commands in one write.
	incr = flow{{[]string{"INCR {key}", "EXPIRE {key} {seconds}"}, []line{{":", integer}, {":1", nothing}}}}

	increment = flow{{[]string{"INCR {key}"}, []line{{":", integer}}}}

	set = flow{{[]string{"SET {key} sixteen_bytes_ok"}, []line{{"+OK", nothing}}}}

	setGet = flow{{
		[]string{"SET {key} sixteen_bytes_ok", "GET {key}"},
		[]line{{"+OK", nothing}, {"$16", nothing}, {"sixteen_bytes_ok", nothing}},
	}}
)
