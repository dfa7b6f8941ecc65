package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
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

// A maker appends one command, or one group of related steps, to the round.
type maker struct {
	weight int
	send   func(*generator)
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

	sets, logs, lexes, hashes, plainSets, lists, texts, counters, fractions, anyKeys []string

	logAt   map[string]int64    // newest value of a log key
	added   map[string][]string // members recently added to a key
	scripts []script            // sent in this round, for EVALSHA

	tables   map[string][]maker
	families []maker
	capture  *[]string // if set, receives a command instead of sending it (for scripts and MULTI)
}

// keyShapes gives every kind of key several forms; %s is the kind.
var keyShapes = []string{
	"%s", "%s:1", "rate_limit:{user_123}:/api/%s", "{%s}", "{}%s", "%s*[a-c]?", "%s with space",
	"%s\x00\xff\r\n", "\xd0\xba:%s",
	"%s:" + strings.Repeat("k", 300), `%s"\`, "12345%s",
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
		logAt: map[string]int64{},
		added: map[string][]string{},
	}
	g.lastMs = g.nowMs + roundSpanMs/2
	g.nameKeys()
	g.tables = map[string][]maker{
		"zset": zsetMakers, "hash": hashMakers, "set": setMakers, "list": listMakers, "string": stringMakers,
		"bits": bitMakers, "keys": keyMakers, "sort": sortMakers, "tx": txMakers, "lua": luaMakers,
		"conn": connMakers, "acl": aclMakers, "oom": oomMakers,
		"observe": observeMakers, "replicated": replicatedMakers,
	}
	for _, f := range familyWeights {
		named := contains(p.families, f.name)
		if f.name == "replicated" && p.replicated {
			named, f.weight = true, 20
		}
		if named || len(p.families) == 0 && f.weight > 0 {
			table := g.tables[f.name]
			g.families = append(g.families, maker{max(f.weight, 1), func(g *generator) { g.choose(table) }})
		}
	}
	g.depth = pick(g.r, 1, 4, 16, 16, 64, 64, 250)
	if g.chance(50) {
		g.send("HELLO", "3")
	}
	if g.chance(30) {
		g.onConn(1, func() { g.send("HELLO", "3") })
	}
	if !p.runningClock && g.chance(15) {
		g.track()
	}
	g.fill()
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
		if g.tracks && g.chance(15) {
			g.tracked()
			continue
		}
		if g.chance(secondShare) {
			g.onConn(1, func() { g.choose(g.families) })
			continue
		}
		g.choose(g.families)
	}
	g.audit()
	return g.out
}

type familyWeight struct {
	name   string
	weight int
}

var familyWeights = []familyWeight{
	{"zset", 42},
	{"hash", 16},
	{"set", 16},
	{"list", 16},
	{"string", 20},
	{"bits", 10},
	{"keys", 16},
	{"sort", 6},
	{"tx", 4},
	{"lua", 14},
	{"conn", 4},
	{"acl", 5},
	{"oom", 1},
	{"observe", 0},    // only if it is named
	{"replicated", 0}, // the same, or with -replicas
}

// familyNames lists the families for messages.
func familyNames() string {
	names := make([]string, len(familyWeights))
	for i, f := range familyWeights {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func (g *generator) nameKeys() {
	shape := func(kind string) string {
		return strings.Replace(keyShapes[g.r.IntN(len(keyShapes))], "%s", kind, 1)
	}
	g.sets = []string{shape("z1"), shape("z2")}
	g.logs = []string{shape("log1"), shape("log2")}
	g.lexes = []string{shape("lex")}
	g.hashes = []string{shape("h1"), shape("h2")}
	g.plainSets = []string{shape("i1"), shape("p1"), shape("p2")}
	g.lists = []string{shape("l1"), shape("l2"), shape("l3")}
	g.texts = []string{shape("s1"), shape("s2")}
	g.counters = []string{shape("n1"), shape("n2")}
	g.fractions = []string{shape("f")}
	if g.chance(20) {
		g.texts[1] = ""
	}
	for _, list := range [][]string{
		g.sets, g.logs, g.hashes, g.plainSets, g.lists, g.texts, g.counters,
		g.fractions,
	} {
		g.anyKeys = append(g.anyKeys, list...)
	}
	g.anyKeys = append(g.anyKeys, shape("new"))
	for _, k := range g.logs {
		g.restartLog(k)
	}
}

// fill gives most keys initial values.
func (g *generator) fill() {
	for _, k := range append(append([]string(nil), g.sets...), g.lexes...) {
		args := []string{"ZADD", k}
		for range g.between(0, 20) {
			score := "0"
			if !contains(g.lexes, k) {
				score = itoa(g.between(0, 20))
			}
			args = append(args, score, g.newMember(k))
		}
		if len(args) > 2 {
			g.send(args...)
		}
	}
	for range 3 {
		g.logBulk()
	}
	if g.chance(12) {
		g.deepLog(pick(g.r, g.logs...))
	}
	if g.chance(12) {
		// More than Redis' listpack of 128, and more than one block of a tree may hold.
		args := []string{"ZADD", pick(g.r, g.sets...)}
		for i := range g.between(100, 900) {
			args = append(args, pick(g.r, itoa(i), itoa(g.between(0, 50)), pick(g.r, floats...)), "e"+itoa(i))
		}
		g.send(args...)
	}
	for _, k := range g.hashes {
		g.send("HSET", k, "n0", "5", g.field(), g.text(), "f1", "1", "f0", "0")
	}
	if g.chance(12) {
		g.bigHash()
	}
	g.send("CONFIG", "SET", "set-max-intset-entries", pick(g.r, "512", "512", "512", "10", "0"))
	for _, k := range g.plainSets {
		g.send("SADD", k, g.setMember(k), g.setMember(k), g.setMember(k), "1", "2")
	}
	if g.chance(12) {
		g.bigSet()
	}
	for _, k := range g.lists {
		g.send("RPUSH", k, g.element(), g.element(), g.element(), g.element())
	}
	if g.chance(12) {
		g.bigList()
	}
	for _, k := range g.counters {
		g.send("SET", k, itoa(g.between(-5, 100)))
	}
	g.send("SET", g.texts[0], g.text())
	g.setWeights()
}

func (g *generator) choose(from []maker) {
	total := 0
	for _, m := range from {
		total += m.weight
	}
	n := g.r.IntN(total)
	for _, m := range from {
		if n -= m.weight; n < 0 {
			m.send(g)
			return
		}
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

// send appends a command as it is.
func (g *generator) send(args ...string) {
	if g.capture != nil {
		if *g.capture == nil {
			*g.capture = args
		}
		return
	}
	args[0] = g.spell(args[0])
	g.add(step{args: args})
}

// command appends a command that may be corrupted: an argument dropped, added or replaced by junk.
func (g *generator) command(args ...string) {
	if g.chance(4) {
		args = append([]string(nil), args...)
		switch g.r.IntN(4) {
		case 0:
			args = args[:len(args)-1]
		case 1:
			args = append(args, g.junk())
		case 2:
			args[g.r.IntN(len(args))] = g.junk()
		default:
			at := g.between(1, len(args))
			args = append(args[:at], append([]string{g.junk()}, args[at:]...)...)
		}
		if len(args) == 0 || args[0] == "" {
			args = []string{"NOSUCH"}
		}
	}
	g.send(args...)
}

func (g *generator) junk() string {
	switch g.r.IntN(5) {
	case 0:
		return pick(g.r, notIntegers...)
	case 1:
		return pick(g.r, floats...)
	case 2:
		return pick(g.r, "NX", "XX", "GT", "LT", "CH", "INCR", "WITHSCORES", "LIMIT", "BYSCORE", "REV",
			"KEEPTTL", "EX", "GET", "COUNT", "MATCH")
	default:
		return pick(g.r, sampleStrings...)
	}
}

// ttlMs returns a time to live in milliseconds, within reach of the round's clock moves.
func (g *generator) ttlMs() int64 {
	if g.plan.runningClock {
		return int64(g.between(100_000, 900_000)) * 1000
	}
	switch g.r.IntN(3) {
	case 0:
		return pick[int64](g.r, 1, 2, 10, 499, 500, 501, 999, 1000, 1001, 1499, 1500, 1501)
	case 1:
		return int64(g.between(1, 120)) * 1000
	default:
		return pick[int64](g.r, 60_000, 3_600_000, 86_400_000, 123_456)
	}
}

// addDeadline records an instant that a clock move may go to.
func (g *generator) addDeadline(atMs int64) {
	if len(g.deadlines) < 64 {
		g.deadlines = append(g.deadlines, atMs)
		return
	}
	g.deadlines[g.r.IntN(len(g.deadlines))] = atMs
}

// deadline returns a relative or absolute deadline argument in unitMs (1 or 1000), and records it for clock
// moves.
func (g *generator) deadline(unitMs int64, absolute bool) string {
	switch n := g.r.IntN(100); {
	case n < 88:
		units := max(g.ttlMs()/unitMs, 1)
		if absolute {
			units += g.nowMs / unitMs
			g.addDeadline(units * unitMs)
		} else {
			g.addDeadline(g.nowMs + units*unitMs)
		}
		return itoa(units)
	case n < 92:
		if absolute {
			return pick(g.r, itoa(g.nowMs/unitMs), itoa(g.nowMs/unitMs-1), "1", "1000000000")
		}
		return pick(g.r, "-1", "0", "-1000")
	case n < 96:
		return pick(g.r, "9223372036854775807", "-9223372036854775808", "9223372036854775",
			"9223372036854776", "4611686018427387904", "10000000000000")
	default:
		return pick(g.r, notIntegers...)
	}
}

// moveClock moves both clocks forward: usually to a deadline, or a millisecond before or after one.
func (g *generator) moveClock() {
	if g.tracks {
		return
	}
	to := g.nowMs + pick[int64](g.r, 1, 999, 1000, 1001, 60_000, 3_600_000)
	for range 8 {
		if len(g.deadlines) == 0 || g.chance(15) {
			break
		}
		at := pick(g.r, g.deadlines...) + int64(g.between(-1, 1))
		if at > g.nowMs && at <= g.nowMs+maxAdvanceMs {
			to = at
			break
		}
	}
	if to > g.lastMs {
		return
	}
	g.nowMs = to
	g.out = append(g.out, step{clockMs: to})
	for range g.between(2, 6) {
		k := pick(g.r, g.anyKeys...)
		g.send(pick(g.r, "TTL", "PTTL", "EXISTS", "TYPE", "PEXPIRETIME"), k)
	}
	if g.chance(40) {
		g.send("KEYS", "*")
	}
}

// audit reads everything that the round may have left, over a connection of its own. It detects a difference
// in state that no command happened to show.
func (g *generator) audit() {
	const conn = 2
	read := func(args ...string) { g.out = append(g.out, step{conn: conn, args: args, audit: true}) }
	for db := range databases {
		read("SELECT", strconv.Itoa(db))
		read("KEYS", "*")
		for _, k := range append(append([]string(nil), g.anyKeys...), g.lexes...) {
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
