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
	generous  = quota{limit: 1_000_000, windowMs: 60_000} // never reached
)

// A contender is a server with its flow. The first of a row is measured, the others are
// references.
type contender struct {
	program program
	name    string   // in the report; empty: the program's
	flags   []string // besides those of every server
	flow    flow
	plain   bool // the flow makes no decision, unlike the row's others
	replica bool // a sink follows the server
	joins   bool // it is not in the row, and has no floor
	// suffix, if not empty, distinguishes the comparison with this contender in the
	// report. It then has a target of its own.
	suffix string
	floor  float64
}

// A program is a server that can be started.
type program string

const (
	ourServer    program = "ours"
	redisServer  program = "redis"
	valkeyServer program = "valkey"
	redis8Server program = "redis8"
	oldServer    program = "old"
)

// joining are the programs that join closed loops where they are known, and whose flows they run.
var joining = []struct{ program, as program }{
	{oldServer, ourServer}, {redis8Server, redisServer}, {valkeyServer, redisServer},
}

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
	quota       quota
	// decides says that the flows are decisions, and nearly all must admit.
	decides bool
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
	byName            bool // not included in a run without --row

	// span, if not 0, replaces the length of a round: it has so many requests a key, after
	// fillTimes of fill. Then a key holds fillTimes+span/2 hits on average, on whichever
	// server. Since such rounds are short, there are more of them: times as many.
	span, times int
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

// targetOf returns the floor of the comparison with a contender.
func (r *row) targetOf(c contender, quick bool) float64 {
	switch {
	case c.joins:
		return 0
	case c.suffix != "":
		return c.floor
	case quick && r.quickFloor > 0:
		return r.quickFloor
	case quick:
		return r.floor / 2
	}
	return r.floor
}

// decidesOn reports whether the flow of a contender makes decisions.
func (r *row) decidesOn(c contender) bool { return r.decides && !c.plain }

// both runs a flow on either server, with the same flags.
func both(f flow, flags ...string) []contender { return against(f, f, flags...) }

// against compares our flow with another of Redis.
func against(ours, theirs flow, flags ...string) []contender {
	return []contender{
		{program: ourServer, flow: ours, flags: flags}, {program: redisServer, flow: theirs, flags: flags},
	}
}

// choose returns the rows to run: those that match the names, or patterns like allow-*;
// or the quick ones; or all that need not be named.
func choose(names string, quick bool) (chosen []row, err error) {
	list := rows()
	if names == "" {
		return slices.DeleteFunc(list, func(r row) bool { return r.byName || quick && !r.quick }), nil
	}
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
			return nil, fmt.Errorf("no row is named %q: see --row '*' --list", name)
		}
	}
	return chosen, nil
}
