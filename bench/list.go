package main

import (
	"fmt"
	"slices"
)

const (
	allowAbout  = "RL.ALLOW against the documents' script by EVALSHA"
	scriptAbout = "the documents' script by EVALSHA"
	libAbout    = "a script as libraries write it, by EVALSHA"
	zaddAbout   = "ZADD with the instant as score and member"
)

// rows returns all rows.
func rows() []row {
	loops := slices.Concat(serverRows(), connectionRows(), hitsRows(), crowdRows(), termRows(), logRows())
	for i := range loops {
		r := &loops[i]
		if r.pipeline == 0 {
			r.pipeline = 16
		}
		if r.connections == 0 {
			r.connections = 50
		}
		if r.keys == 0 {
			r.keys = 10_000
		}
		if r.quota.limit == 0 {
			r.quota = perMinute
		}
		r.renew = r.renew || r.decides && r.fill == nil
	}
	return slices.Concat(loops, sceneRows(), otherRows())
}

// serverRows returns the targets of closed loops.
func serverRows() []row {
	wire := []contender{
		{program: ourServer, flow: rlAllow},
		{program: ourServer, name: "our PING", flow: ping, plain: true},
	}
	top := []contender{
		{program: ourServer, flow: rlAllow},
		{program: ourServer, name: "without rl-top", flags: []string{"--rl-top", "no"}, flow: rlAllow},
	}
	replica := func(p program, f flow) []contender {
		return []contender{
			{program: p, name: string(p) + " with a replica", flags: replicaFlags, flow: f, replica: true},
			{program: p, name: string(p) + " without", flow: f},
		}
	}
	return []row{
		{name: "ping-1", about: "PING", floor: 0.95, pipeline: 1, sides: both(ping)},
		{name: "ping-16", about: "PING", floor: 0.95, sides: both(ping), quick: true},
		{name: "incr-1", about: "INCR and EXPIRE", floor: 0.95, pipeline: 1, sides: both(incr)},
		{name: "incr-16", about: "INCR and EXPIRE", floor: 0.95, sides: both(incr)},
		{name: "setget-16", about: "SET and GET of 16 bytes", floor: 0.95, sides: both(setGet)},
		{name: "zadd-1", about: zaddAbout, floor: 0.95, pipeline: 1, sides: both(zadd), renew: true},
		{name: "zadd-16", about: zaddAbout, floor: 0.95, sides: both(zadd), renew: true},
		{
			name: "allow-1", about: allowAbout, floor: 1.6, pipeline: 1, sides: against(rlAllow, evalsha),
			decides: true, quick: true,
		},
		{
			// Half of the target is what this row reaches, and less with slow memory: such a floor
			// would fail by chance.
			name: "allow-16", about: allowAbout, floor: 12, sides: against(rlAllow, evalsha), decides: true,
			quick: true, quickFloor: 3,
		},
		{name: "wire-16", about: "RL.ALLOW against our own PING", floor: 0.75, sides: wire, decides: true},
		{
			name: "top-16", about: "RL.ALLOW with the counts of RL.TOP against without", floor: 0.98,
			sides: top, decides: true,
		},
		{
			name: "replica-16", about: "RL.ALLOW with a replica against without", floor: 0.75,
			sides: replica(ourServer, rlAllow), decides: true,
		},
		{
			name: "replica-16-redis", about: "the documents' script with a replica against without",
			sides: replica(redisServer, evalsha), decides: true,
		},
		{name: "evalsha-1", about: scriptAbout, floor: 1.3, pipeline: 1, sides: both(evalsha), decides: true},
		{name: "evalsha-16", about: scriptAbout, floor: 4, sides: both(evalsha), decides: true},
		{name: "library-1", about: libAbout, floor: 1.2, pipeline: 1, sides: both(library), decides: true},
		{name: "library-16", about: libAbout, floor: 2, sides: both(library), decides: true},
		{
			name: "multi-16", about: "the documents' flow as MULTI/EXEC", floor: 1.5, sides: both(multi),
			decides: true,
		},
		{
			name: "commands-1", about: "the documents' flow as four commands, four round trips", floor: 1.5,
			pipeline: 1, sides: both(fourCommands), decides: true,
		},
	}
}

// connectionRows are calls that wait for their replies, over few connections and over many.
func connectionRows() (list []row) {
	for _, at := range []struct {
		connections          int
		ping, allow, evalsha float64 // targets
	}{{50, 1, 2.1, 1.7}, {1000, 1 / 0.9, 2, 1.5}, {5000, 0, 0, 0}} {
		for _, r := range []row{
			{name: "ping", about: "PING", floor: at.ping, sides: both(ping)},
			{
				name: "allow", about: allowAbout, floor: at.allow, sides: against(rlAllow, evalsha),
				decides: true,
			},
			{name: "evalsha", about: scriptAbout, floor: at.evalsha, sides: both(evalsha), decides: true},
		} {
			r.name = fmt.Sprintf("%s-c%d", r.name, at.connections)
			r.pipeline, r.connections = 1, at.connections
			list = append(list, r)
		}
	}
	return list
}

// hitsRows returns the rows whose keys hold a number of hits, or are many: RL.ALLOW
// against our own PING, at most 1.4 times or 1.6 times which it may take, and against the
// documents' script.
func hitsRows() []row {
	sides := func(wire, script float64) []contender {
		return []contender{
			{program: ourServer, flow: rlAllow},
			{program: ourServer, name: "our PING", flow: ping, plain: true, suffix: "-ping", floor: wire},
			{program: redisServer, flow: evalsha, suffix: "-script", floor: script},
		}
	}
	list := []row{
		{name: "hits-10", about: "keys with 10 hits on average", span: 10, times: 5, fillTimes: 5},
		{name: "hits-200", about: "keys with 200 hits on average", span: 80, fillTimes: 160},
		{
			name: "million", about: "a million keys with a few hits each", fillTimes: 1, keys: 1_000_000,
			keep: true, sides: sides(1/1.6, 0),
		},
	}
	for i := range list {
		r := &list[i]
		r.about = "RL.ALLOW on " + r.about
		r.decides, r.quota = true, quota{limit: 1000, windowMs: 60_000}
		r.fill = []flow{rlAllow, nil, zadd}
		if r.sides == nil {
			r.sides = sides(1/1.4, 12)
		}
	}
	return list
}

// logRows returns what keeping data costs. They write gigabytes.
func logRows() (list []row) {
	for _, w := range []struct {
		name, about string
		flow        flow
	}{{"", "RL.ALLOW", rlAllow}, {"zadd-", "ZADD", zadd}, {"set-", "SET of 16 bytes", set}} {
		name := "everysec-" + w.name + "16"
		list = append(list, row{
			name: name, floor: 0.9, byName: true, decides: w.name == "", renew: w.name == "zadd-",
			about: w.about + " with a log, appendfsync everysec, against without",
			sides: []contender{
				{program: ourServer, name: "with a log", flow: w.flow, flags: logFlags(name, "everysec")},
				{program: ourServer, name: "without", flow: w.flow},
			},
		})
	}
	always := both(increment)
	for i, c := range always {
		always[i].flags = logFlags("always-"+string(c.program), "always")
	}
	return append(list, row{
		name: "always-1", about: "INCR with appendfsync always", floor: 0.9, byName: true, pipeline: 1,
		sides: always,
	})
}

// logFlags switches the append-only log on, in a directory of the contender's own. Rewrites would fall into
// some rounds only.
func logFlags(folder, fsync string) []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", fsync, "--appenddirname", folder,
		"--auto-aof-rewrite-percentage", "0",
	}
}

// crowdIdle is how many connections of the row crowd-1 have nothing to do.
const crowdIdle = 9000

func crowdRows() []row {
	return []row{{
		name: "crowd-1", floor: 1, byName: true, pipeline: 1, connections: 1000, idle: crowdIdle,
		measure: crowded,
		about:   fmt.Sprintf("INCR and EXPIRE of 1,000 clients, while %d others are connected", crowdIdle),
		sides:   both(incr, "--maxclients", "20000"),
	}}
}
