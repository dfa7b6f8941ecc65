package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A quota is the limit of a limiter row.
type quota struct {
	limit    int64 // calls
	windowMs int64
	cost     int64 // units of a call; 0: one
}

var (
	perMinute = quota{limit: 100, windowMs: 60_000}
	once      = quota{limit: 1, windowMs: 600_000} // denied once filled
)

// A contender is a server with its flow. The first of a row is measured, the second is
// the reference.
type contender struct {
	program program
	name    string   // in the report; empty: the program's
	flags   []string // besides those of every server
	flow    flow
	plain   bool // the flow makes no decision, unlike the row's others
	replica bool // a sink follows the server
	joins   bool // it is not in the row, and has no floor
	// suffix, if not empty, distinguishes the comparison with this contender in the
	// report. It then has a target of its own: at least floor, or at most atMost.
	suffix        string
	floor, atMost float64
}

// A program is a server that can be started.
type program string

const (
	ourServer    program = "ours"
	redisServer  program = "redis"
	valkeyServer program = "valkey"
	redis8Server program = "redis8"
)

// joining are the programs that run what Redis runs, where they are known.
var joining = []program{redis8Server, valkeyServer}

// A mix is the kind of decisions in a limiter row.
type mix uint8

const (
	undecided mix = iota // the row makes no decisions
	admitting            // keys are renewed, so that nearly all are admitted
	denying              // keys are filled to their limit first
	either               // hot keys are denied, others admitted
)

// A row is a workload, run on every contender in turn, or another measurement.
type row struct {
	name  string
	about string

	// measure, if not nil, replaces the alternating rounds of a closed loop. Its
	// results have the row's name.
	measure func(ctx context.Context, b *bench, r row, say say) ([]result, error)

	sides       []contender
	pipeline    int
	connections int
	keys        uint64
	zipf        bool // skewed choice of keys
	mix         mix
	quota       quota
	// fill, if any, runs fillTimes for every key before each round, each time a
	// millisecond later.
	fill      []flow // one for each contender, or one for all
	fillTimes int
	// renew gives the row new keys whenever the current ones hold half a limit of hits
	// on average. The n-th request then finds the same state on both servers. Without
	// it the faster server would soon only deny.
	renew bool

	// floor is the target of the row: the lowest ratio that passes, 0 for none.
	// quickFloor is that of --quick, by default half of floor.
	floor, quickFloor float64
	quick             bool // included in --quick

	// span, if not 0, replaces the length of a round: each of parts stretches has so many
	// requests a key, after fillTimes of fill. Then a key holds fillTimes+span/2 hits on
	// average, on whichever server.
	span, parts int
	// keep fills the keys once, before the first round.
	keep bool
	// idle is how many other connections are open.
	idle int
}

// fillOf returns the flow that fills a contender's keys, or nil.
func (r *row) fillOf(side int) flow {
	if len(r.fill) == 0 {
		return nil
	}
	return r.fill[min(side, len(r.fill)-1)]
}

// target returns the floor that applies to a run.
func (r *row) target(quick bool) float64 {
	switch {
	case !quick:
		return r.floor
	case r.quickFloor > 0:
		return r.quickFloor
	}
	return r.floor / 2
}

// A target is what a comparison is judged by.
type target struct {
	floor float64 // the lowest ratio that passes, 0 for none
	// atMost, if not 0, is how the target is put: ours at most so many times the other's.
	atMost float64
}

// targetOf returns the target of the comparison with a contender.
func (r *row) targetOf(c contender, quick bool) target {
	switch {
	case c.joins:
		return target{}
	case c.atMost > 0:
		return target{floor: 1 / c.atMost, atMost: c.atMost}
	case c.suffix != "":
		return target{floor: c.floor}
	}
	return target{floor: r.target(quick)}
}

// both runs a flow on either server.
func both(f flow) []contender { return against(f, f) }

// against compares our flow with another of Redis.
func against(ours, theirs flow) []contender {
	return []contender{{program: ourServer, flow: ours}, {program: redisServer, flow: theirs}}
}

// rows returns the default list: each target once.
func rows() []row {
	const keys, connections = 10_000, 50
	plain := func(name, about string, pipeline int, f flow) row {
		return row{
			name: name, about: about, floor: 0.95, pipeline: pipeline,
			sides: both(f), connections: connections, keys: keys, quota: perMinute,
		}
	}
	limiter := func(name, about string, floor float64, pipeline int, sides []contender) row {
		return row{
			name: name, about: about, floor: floor, pipeline: pipeline, sides: sides,
			connections: connections, keys: keys, quota: perMinute, mix: admitting, renew: true,
		}
	}
	wire := []contender{
		{program: ourServer, flow: rlAllow},
		{program: ourServer, name: "our PING", flow: ping, plain: true},
	}
	top := []contender{
		{program: ourServer, flow: rlAllow},
		{program: ourServer, name: "without rl-top", flags: []string{"--rl-top", "no"}, flow: rlAllow},
	}

	list := []row{
		plain("ping-1", "PING", 1, ping),
		plain("ping-16", "PING", 16, ping),
		plain("incr-1", "INCR and EXPIRE", 1, incr),
		plain("incr-16", "INCR and EXPIRE", 16, incr),
		plain("setget-16", "SET and GET of 16 bytes", 16, setGet),
		plain("zadd-1", "ZADD with the instant as score and member", 1, zadd),
		plain("zadd-16", "ZADD with the instant as score and member", 16, zadd),
		limiter("allow-1", "RL.ALLOW against the documents' script by EVALSHA", 1.6, 1,
			against(rlAllow, evalsha)),
		limiter("allow-16", "RL.ALLOW against the documents' script by EVALSHA", 12, 16,
			against(rlAllow, evalsha)),
		limiter("wire-16", "RL.ALLOW against our own PING", 0.75, 16, wire),
		limiter("top-16", "RL.ALLOW with the counts of RL.TOP against without", 0.98, 16, top),
		limiter("replica-16", "RL.ALLOW with a replica against without", 0.75, 16, against(rlAllow, evalsha)),
		limiter("evalsha-1", "the documents' script by EVALSHA", 1.3, 1, both(evalsha)),
		limiter("evalsha-16", "the documents' script by EVALSHA", 4, 16, both(evalsha)),
		limiter("library-1", "a script as libraries write it, by EVALSHA", 1.2, 1, both(library)),
		limiter("library-16", "a script as libraries write it, by EVALSHA", 2, 16, both(library)),
		limiter("multi-16", "the documents' flow as MULTI/EXEC", 1.5, 16, both(multi)),
		limiter("commands-1", "the documents' flow as four commands, four round trips", 1.5, 1,
			both(fourCommands)),
	}
	list = append(list, hitsRows()...)
	for i := range list {
		r := &list[i]
		switch r.name {
		case "zadd-1", "zadd-16":
			r.renew = true
		case "replica-16":
			r.measure = replicated
		case "ping-16", "allow-1":
			r.quick = true
		case "allow-16":
			// Half of the target is what this row reaches, and less with slow memory:
			// such a floor would fail by chance.
			r.quick, r.quickFloor = true, 3
		}
	}
	return append(list, otherRows()...)
}

// namedRows returns the rows that are measured by name, or with the matrix: they write gigabytes, take long,
// or need what is not always installed.
func namedRows() []row {
	return slices.Concat(costRows(), termRows(), storageRows(), stallRows(), libraryRows(), crowdRows(),
		connectionRows(), socketRows(), []row{queueRow()})
}

// full returns the whole matrix: every workload at every depth, number of connections,
// choice of keys and mix. Names are like allow-p16-c50-zipf-1m-denied.
func full() []row {
	type workload struct {
		name, about string
		sides       []contender
		decides     bool
	}
	type spread struct {
		name string
		keys uint64
		zipf bool
	}
	var out []row
	for _, w := range []workload{
		{"ping", "PING", both(ping), false},
		{"incr", "INCR and EXPIRE", both(incr), false},
		{"zadd", "ZADD with the instant as score and member", both(zadd), false},
		{"commands", "the documents' flow as four commands", both(fourCommands), true},
		{"multi", "the documents' flow as MULTI/EXEC", both(multi), true},
		{"evalsha", "the documents' script by EVALSHA", both(evalsha), true},
		{"allow", "RL.ALLOW against the documents' script by EVALSHA", against(rlAllow, evalsha), true},
	} {
		for _, pipeline := range []int{1, 16, 128} {
			for _, connections := range []int{1, 50, 1000} {
				for _, s := range []spread{
					{"uniform-10k", 10_000, false},
					{"uniform-1m", 1_000_000, false},
					{"zipf-10k", 10_000, true},
					{"zipf-1m", 1_000_000, true},
					{"hot", 1, false},
				} {
					r := row{
						name:  fmt.Sprintf("%s-p%d-c%d-%s", w.name, pipeline, connections, s.name),
						about: w.about, sides: w.sides, pipeline: pipeline, connections: connections,
						keys: s.keys, zipf: s.zipf, quota: perMinute, renew: w.name == "zadd",
					}
					if !w.decides {
						out = append(out, r)
						continue
					}
					if r.mix, r.renew = admitting, true; s.zipf {
						r.mix = either
					}
					if s.keys > 1 { // one key denies in any mix
						out = append(out, r)
					}
					if w.name != "multi" && w.name != "commands" { // these add even if they deny
						out = append(out, r.denied())
					}
				}
			}
		}
	}
	return out
}

// denied returns the row with every key at its limit.
func (r row) denied() row {
	r.name += "-denied"
	r.mix, r.renew, r.quota, r.fillTimes = denying, false, once, 1
	r.fill = nil
	for _, c := range r.sides {
		r.fill = append(r.fill, c.flow)
	}
	return r
}

// choose returns the rows to run: those of the list and the matrix that match the
// names, or patterns like allow-*; or the quick list; or the list, or all of the
// matrix.
func choose(names string, quick, matrix bool) ([]row, error) {
	list := rows()
	switch {
	case names == "" && matrix:
		return append(namedRows(), full()...), nil
	case names == "" && quick:
		return slices.DeleteFunc(list, func(r row) bool { return !r.quick }), nil
	case names == "":
		return list, nil
	}
	var known []string
	for _, r := range list {
		known = append(known, r.name)
	}
	list = append(append(list, namedRows()...), full()...)
	var chosen []row
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		found := len(chosen)
		for _, r := range list {
			if ok, err := path.Match(name, r.name); err != nil {
				return nil, fmt.Errorf("%q is no pattern: %w", name, err)
			} else if ok {
				chosen = append(chosen, r)
			}
		}
		if len(chosen) == found {
			return nil, fmt.Errorf("no row is named %q; there are %s, and the matrix of --full --list", name,
				strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// mixOf returns the mix of a contender.
func (r *row) mixOf(c contender) mix {
	if c.plain {
		return undecided
	}
	return r.mix
}
