package main

import "fmt"

// hitsRows returns the rows whose keys hold a number of hits, or are many: RL.ALLOW
// against our own PING, and against the documents' script.
func hitsRows() []row {
	sides := func(floor, atMost float64) []contender {
		return []contender{
			{program: ourServer, flow: rlAllow},
			{program: ourServer, name: "our PING", flow: ping, plain: true, suffix: "-ping", atMost: atMost},
			{program: redisServer, flow: evalsha, suffix: "-script", floor: floor},
		}
	}
	base := row{
		pipeline: 16, connections: 50, keys: 10_000, mix: admitting,
		quota: quota{limit: 1000, windowMs: 60_000}, sides: sides(12, 1.4), fill: []flow{rlAllow, nil, zadd},
	}
	var list []row
	for _, h := range []struct{ hits, span, parts int }{{10, 10, 5}, {200, 80, 1}} {
		r := base
		r.name = fmt.Sprint("hits-", h.hits)
		r.about = fmt.Sprintf("RL.ALLOW on keys with %d hits on average", h.hits)
		r.span, r.parts, r.fillTimes = h.span, h.parts, h.hits-h.span/2
		list = append(list, r)
	}
	million := base
	million.name, million.about = "million", "RL.ALLOW on a million keys with a few hits each"
	million.keys, million.keep, million.fillTimes = 1_000_000, true, 1
	million.sides = sides(0, 1.6)
	return append(list, million)
}
