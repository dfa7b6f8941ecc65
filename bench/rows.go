package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// script is the limiter of the documents as one atomic step: drop what has left
// the window, count, add if there is room. It answers "1" or "0" as a string.
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

func scriptSHA() string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// A quota is the limit that the limiter rows work with.
type quota struct {
	limit    int64
	windowMs int64
}

var perMinute = quota{limit: 100, windowMs: 60_000}

// The flows. Replies are those of RESP2.
var (
	ping = flow{{[]string{"PING"}, []line{{"+PONG", nothing}}}}

	// [allowed, limit, remaining, retry_after_ms, reset_after_ms]
	rlAllow = flow{{
		[]string{"RL.ALLOW {key} {limit} {window}"},
		[]line{{"*5", nothing}, {":", verdict}, {":", integer}, {":", integer}, {":", integer}, {":", integer}},
	}}

	evalsha = flow{{
		[]string{"EVALSHA {sha} 1 {key} {now} {window} {limit}"},
		[]line{{"$1", nothing}, {"", verdict}},
	}}

	// The documents' transaction adds first and asks for the count after it.
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

	// Four round trips, as a client without pipeline or script makes them. It
	// adds even when the count says no, which in a row that admits never happens.
	fourCommands = flow{
		{[]string{"ZREMRANGEBYSCORE {key} 0 {cut}"}, []line{{":", integer}}},
		{[]string{"ZCARD {key}"}, []line{{":", below}}},
		{[]string{"ZADD {key} {now} {now}"}, []line{{":", integer}}},
		{[]string{"EXPIRE {key} {seconds}"}, []line{{":1", nothing}}},
	}

	zadd = flow{{[]string{"ZADD {key} {now} {now}"}, []line{{":", integer}}}}
	incr = flow{{[]string{"INCR {key}"}, []line{{":", integer}}}}
	set  = flow{{[]string{"SET {key} sixteen_bytes_ok"}, []line{{"+OK", nothing}}}}
	get  = flow{{[]string{"GET {key}"}, []line{{"$16", nothing}, {"sixteen_bytes_ok", nothing}}}}
)

// A row is one workload, run on both servers.
type row struct {
	name        string
	about       string
	ours, redis flow
	pipeline    int
	connections int
	keys        uint64
	// fill, if any, runs once for every key before each round.
	fill flow
	// decides says that the replies carry verdicts: the warm-up then demands
	// that exactly the limit is admitted, and each round that all are (see renew).
	decides bool
	// renew gives the row new keys each time the present ones hold half a limit
	// of hits on average. The n-th request then finds the same state on both
	// servers, whichever is faster: without it the faster server would soon do
	// nothing but deny.
	renew bool
	// floor is the least ratio to Redis that passes; 0 is no floor.
	floor float64
	// quick puts the row on --quick's list.
	quick bool
}

// rows is everything that bench can run, in the order of the report.
func rows() []row {
	const keys, connections = 10_000, 50
	base := row{connections: connections, keys: keys}
	limiter := base
	limiter.decides, limiter.renew = true, true

	with := func(r row, name, about string, pipeline int, ours, redis flow) row {
		r.name, r.about, r.pipeline, r.ours, r.redis = name, about, pipeline, ours, redis
		return r
	}
	floor := func(least float64, r row) row { r.floor = least; return r }
	quick := func(r row) row { r.quick = true; return r }
	fresh := func(r row) row { r.renew = true; return r }
	filled := func(f flow, r row) row { r.fill = f; return r }

	return []row{
		with(base, "ping-1", "PING", 1, ping, ping),
		quick(with(base, "ping-16", "PING", 16, ping, ping)),
		quick(floor(1.3, with(limiter, "allow-1", "RL.ALLOW against the documents' script by EVALSHA", 1, rlAllow, evalsha))),
		quick(floor(6.0, with(limiter, "allow-16", "RL.ALLOW against the documents' script by EVALSHA", 16, rlAllow, evalsha))),
		with(limiter, "evalsha-1", "the documents' script by EVALSHA", 1, evalsha, evalsha),
		with(limiter, "evalsha-16", "the documents' script by EVALSHA", 16, evalsha, evalsha),
		with(limiter, "multi-16", "the documents' flow as MULTI/EXEC", 16, multi, multi),
		with(limiter, "commands-1", "the documents' flow as four commands, four round trips", 1, fourCommands, fourCommands),
		fresh(with(base, "zadd-16", "ZADD with the instant as score and member", 16, zadd, zadd)),
		with(base, "incr-16", "INCR", 16, incr, incr),
		filled(set, with(base, "get-16", "GET of 16 bytes", 16, get, get)),
		with(base, "set-16", "SET of 16 bytes", 16, set, set),
	}
}

// choose picks the rows to run: the named ones, or the quick list, or all.
func choose(all []row, names string, quick bool) ([]row, error) {
	if names == "" {
		if !quick {
			return all, nil
		}
		return slices.DeleteFunc(slices.Clone(all), func(r row) bool { return !r.quick }), nil
	}
	var chosen []row
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(r row) bool { return r.name == strings.TrimSpace(name) })
		if i < 0 {
			var known []string
			for _, r := range all {
				known = append(known, r.name)
			}
			return nil, fmt.Errorf("no row is named %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
