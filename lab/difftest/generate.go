package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// A round is generated without looking at replies, so it is a pure function of seed and number and can be run
// again, whole or in part. Weights give it depth: few keys of a known kind, many more writes that fill than
// commands that empty, and few wrong arguments.

const (
	// In 2036, so that replicas, whose clocks run, have every key whose deadline is in a round.
	firstNowMs   = 2_100_000_000_000
	roundSpanMs  = 20 * 24 * 3600 * 1000 // the clock never goes back from one round to the next
	maxAdvanceMs = 8 * 24 * 3600 * 1000
	databases    = 3
)

// A plan says how to generate. The zero value selects all families with a held clock.
type plan struct {
	families     []string       // nil: all
	runningClock bool           // no clock moves, and no deadline that real time could reach
	replicated   bool           // the servers have replicas
	omit         map[string]int // percent of a command's occurrences to leave out, by name
}

type generator struct {
	r    *rand.Rand
	plan plan
	out  []step

	startMs   int64
	nowMs     int64
	lastMs    int64   // the last instant of the round
	deadlines []int64 // instants at which a key of the round is likely to expire

	tracks bool // connections track keys, and the clock is held

	users bool // the round has users of the ACL

	conn  int // index of the connection that sends
	depth int // of pipelines

	keys    map[string][]string // by kind
	logAt   map[string]int64    // newest value of a log key
	added   map[string][]string // members recently added to a key
	scripts []script            // sent in this round, for EVALSHA
	serial  int
}

// roundSeed mixes the run's seed with the round's number (splitmix64's finalizer), so that any round can be
// generated alone.
func roundSeed(seed uint64, number int) uint64 {
	z := seed + uint64(number+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// roundStartMs returns the instant at which the round's clock starts.
func roundStartMs(number int) int64 { return firstNowMs + int64(number)*roundSpanMs }

// generate returns the round of that number, with at least n commands, followed by an audit of all its keys.
func generate(seed uint64, number, n int, p plan) []step {
	s := roundSeed(seed, number)
	g := &generator{
		r:       rand.New(rand.NewPCG(s, s^0xda3e39cb94b95bdb)),
		plan:    p,
		startMs: roundStartMs(number), nowMs: roundStartMs(number),
		keys:  map[string][]string{},
		logAt: map[string]int64{},
		added: map[string][]string{},
	}
	g.lastMs = g.nowMs + roundSpanMs/2
	g.nameKeys()
	chosen := p.families
	if len(chosen) == 0 {
		chosen = others()
	}
	if p.replicated && !slices.Contains(chosen, "replicated") {
		chosen = append(slices.Clone(chosen), "replicated")
	}
	g.depth = pick(g.r, 1, 4, 16, 16, 64, 64, 250)
	if g.chance(50) {
		g.say("HELLO", "3")
	}
	if g.chance(30) {
		g.onConn(1, func() { g.say("HELLO", "3") })
	}
	if !p.runningClock && g.chance(15) {
		g.track()
	}
	for _, f := range language.Families["fill"].Forms {
		if g.chance(f.Weight) {
			g.send(f)
		}
	}
	moves := 0
	if !p.runningClock && !g.tracks {
		moves = g.between(1, 4)
	}
	nextMove := n / (moves + 1)
	secondShare := pick(g.r, 0, 0, 2, 10)
	for len(g.out) < n {
		if moves > 0 && len(g.out) >= nextMove {
			g.moveClock()
			moves--
			nextMove = len(g.out) + (n-len(g.out))/(moves+1)
		}
		switch {
		case g.tracks && g.chance(15):
			g.onConn(g.r.IntN(2), func() { g.choose("tracking") })
		case g.chance(secondShare):
			g.onConn(1, func() { g.chooseOf(chosen) })
		default:
			g.chooseOf(chosen)
		}
	}
	g.audit()
	return g.out
}

// track switches tracking on for connections 0 and 1. Nothing expires in such a round: our server reclaims
// keys when its clock is moved, Redis when it accesses them, and both send invalidations then.
func (g *generator) track() {
	g.tracks = true
	for conn := range 2 {
		g.onConn(conn, func() {
			g.add(step{args: []string{"HELLO", "3"}})
			g.add(step{args: append([]string{"CLIENT", "TRACKING", "ON"},
				pick(g.r, nil, []string{"NOLOOP"}, []string{"OPTIN"}, []string{"OPTOUT"})...)})
		})
	}
}

// onConn sends the steps of f over another connection.
func (g *generator) onConn(conn int, f func()) {
	before := g.conn
	g.conn = conn
	f()
	g.conn = before
}

// add appends a step on the current connection, cutting pipelines at about the round's depth.
func (g *generator) add(s step) {
	if percent := g.plan.omit[commandName(s.args)]; percent > 0 && !s.glue && g.chance(percent) {
		return
	}
	s.conn = g.conn
	if !s.glue {
		s.cut = g.r.IntN(g.depth) == 0
		s.split = s.cut && g.chance(3)
	}
	g.out = append(g.out, s)
}

// say appends a command as it is, but for the case of its name.
func (g *generator) say(args ...string) {
	args[0] = g.spell(args[0])
	g.add(step{args: args})
}

// audit reads everything that the round may have left, over a connection of its own. It detects a difference
// in state that no command happened to show.
func (g *generator) audit() {
	const conn = 2
	read := func(args ...string) { g.out = append(g.out, step{conn: conn, args: args, audit: true}) }
	for db := range databases {
		read("SELECT", strconv.Itoa(db))
		read("KEYS", "*")
		for _, k := range slices.Concat(g.keys["any"], g.keys["equal"]) {
			read("TYPE", k)
			read("OBJECT", "ENCODING", k)
			g.out = append(g.out, step{conn: conn, args: []string{"HGETALL", k}, audit: true, glue: true})
			read("PEXPIRETIME", k)
			read("ZRANGE", k, "0", "-1", "WITHSCORES")
			read("SMEMBERS", k)
			read("LRANGE", k, "0", "-1")
			read("GET", k)
		}
	}
}
