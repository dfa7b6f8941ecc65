package main

import (
	"crypto/sha1"
	_ "embed" // library.lua
	"encoding/hex"
	"slices"
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

// The flows. Replies are those of RESP2.
var (
	ping = one("PING", "+PONG")

	// [allowed, limit, remaining, retry_after_ms, reset_after_ms]
	rlAllow = one("RL.ALLOW {key} {limit} {window}", decisionReply)
	// The same with a cost; see terms.go.
	allowCost = one("RL.ALLOW {key} {limit} {window} COST {cost}", decisionReply)
	evalCost  = one("EVALSHA {costs} 1 {key} {now} {window} {limit} {cost}", "$1 verdict")

	evalsha = one("EVALSHA {sha} 1 {key} {now} {window} {limit}", "$1 verdict")
	library = one("EVALSHA {library} 1 {key} {now} [{window},{limit}]", "$1 verdict")

	// The documents' transaction adds first and counts afterwards.
	multi = flow{{
		[]string{
			"MULTI", "ZADD {key} {now} {now}", "ZREMRANGEBYSCORE {key} 0 {cut}", "ZCARD {key}",
			"EXPIRE {key} {seconds}", "EXEC",
		},
		expect("+OK +QUEUED +QUEUED +QUEUED +QUEUED *4 :integer :integer :within :1"),
	}}

	// Four round trips, as a client without pipeline or script makes them. It adds even
	// if the count forbids it, which never happens in a row that admits.
	fourCommands = slices.Concat(one("ZREMRANGEBYSCORE {key} 0 {cut}", ":integer"),
		one("ZCARD {key}", ":below"), zadd, one("EXPIRE {key} {seconds}", ":1"))

	zadd = one("ZADD {key} {now} {now}", ":integer")

	// The counter of a fixed window: two commands in one write.
	incr = flow{{[]string{"INCR {key}", "EXPIRE {key} {seconds}"}, expect(":integer :1")}}

	increment = one("INCR {key}", ":integer")

	set = one("SET {key} sixteen_bytes_ok", "+OK")

	setGet = flow{{[]string{"SET {key} sixteen_bytes_ok", "GET {key}"}, expect("+OK $16 sixteen_bytes_ok")}}
)

const decisionReply = "*5 :verdict :integer :integer :integer :integer"

// one returns the flow of one command.
func one(command, reply string) flow { return flow{{[]string{command}, expect(reply)}} }
