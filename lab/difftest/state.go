package main

import (
	"strconv"
	"strings"
)

// keyShapes gives every kind of key several forms; %s is the kind.
var keyShapes = []string{
	"%s", "%s:1", "rate_limit:{user_123}:/api/%s", "{%s}", "{}%s", "%s*[a-c]?", "%s with space",
	"%s\x00\xff\r\n", "\xd0\xba:%s",
	"%s:" + strings.Repeat("k", 300), `%s"\`, "12345%s",
}

// keyNames are the keys of a round by kind. The kind any has those of all others but equal, and one more.
var keyNames = [][]string{
	{"zset", "z1", "z2"},
	{"log", "log1", "log2"},
	{"hash", "h1", "h2"},
	{"set", "i1", "p1", "p2"},
	{"list", "l1", "l2", "l3"},
	{"string", "s1", "s2"},
	{"counter", "n1", "n2"},
	{"fraction", "f"},
	{"any", "new"},
	{"equal", "lex"},
}

func (g *generator) nameKeys() {
	for _, names := range keyNames {
		kind := names[0]
		for _, name := range names[1:] {
			k := strings.Replace(pick(g.r, keyShapes...), "%s", name, 1)
			if name == "s2" && g.chance(20) {
				k = ""
			}
			g.keys[kind] = append(g.keys[kind], k)
			if kind != "equal" && kind != "any" {
				g.keys["any"] = append(g.keys["any"], k)
			}
		}
	}
	for _, k := range g.keys["log"] {
		g.restartLog(k)
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("the grammar passes a number that is none: " + s)
	}
	return n
}

// existingMember returns a member that the key is likely to hold.
func (g *generator) existingMember(key string) string {
	if list := g.added[key]; len(list) > 0 && g.chance(75) {
		return pick(g.r, list...)
	}
	if at, ok := g.logAt[key]; ok && g.chance(70) {
		return itoa(at - int64(g.r.IntN(12)))
	}
	return g.value("anyMember")
}

// newMember returns a member to add to the key, and records it.
func (g *generator) newMember(key string) string {
	m := g.value("anyMember")
	g.addMember(key, m)
	return m
}

func (g *generator) addMember(key, member string) {
	const most = 12
	list := append(g.added[key], member)
	if len(list) > most {
		list = list[1:]
	}
	g.added[key] = list
}

// boundOf returns an end of a range by score near the key's scores.
func (g *generator) boundOf(key string) string {
	if at, ok := g.logAt[key]; ok && g.chance(70) {
		return pick(g.r, "", "", "(") + itoa(at-int64(g.r.IntN(40))+2)
	}
	return g.value("anyBound")
}

// setMember returns a member that the key may hold: the first of the keys gets almost only integers.
func (g *generator) setMember(key string) string {
	switch {
	case g.chance(70):
		return itoa(g.between(-3, 12))
	case key == g.keys["set"][0] && g.chance(97):
		return g.value("limits")
	default:
		return g.value("anyMember")
	}
}

// A log is a sorted set in the form that limiters use: each member is the plain decimal of its own score,
// values are appended at the end and removed from the front. zlimit-server has a special encoding for such
// sets.

// restartLog gives a log key a new start value, and returns the key.
func (g *generator) restartLog(key string) string {
	g.logAt[key] = pick[int64](g.r, g.nowMs, g.nowMs/1000, 1_700_000_000_123, g.nowMs*1000, 0, -300, 250,
		65_400,
		1<<32-50, 1<<53-60, -(1<<53)+3, 1<<52, 100_000_000_000_000, 99_999_999_999_990)
	return key
}

// logNext returns the next value for a log key: usually a little higher, sometimes far higher, repeated or
// lower.
func (g *generator) logNext(key string) string {
	at := g.logAt[key]
	switch n := g.r.IntN(100); {
	case n < 50:
		at++
	case n < 58:
	case n < 64:
		return itoa(at - int64(g.r.IntN(60)))
	case n < 90:
		at += int64(g.between(2, 1200))
	default:
		at += pick[int64](g.r, 15, 16, 127, 128, 255, 256, 257, 65_535, 65_536, 65_537, 1<<24, 1<<31, 1<<32)
	}
	g.logAt[key] = min(at, 1<<60)
	g.addMember(key, itoa(g.logAt[key]))
	return itoa(g.logAt[key])
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

// due returns a time to live in unitMs (1 or 1000), or its end, which it records for clock moves.
func (g *generator) due(unitMs int64, absolute bool) string {
	units := max(g.ttlMs()/unitMs, 1)
	if absolute {
		units += g.nowMs / unitMs
		g.addDeadline(units * unitMs)
	} else {
		g.addDeadline(g.nowMs + units*unitMs)
	}
	return itoa(units)
}

// addDeadline records an instant that a clock move may go to.
func (g *generator) addDeadline(atMs int64) {
	if len(g.deadlines) < 64 {
		g.deadlines = append(g.deadlines, atMs)
		return
	}
	g.deadlines[g.r.IntN(len(g.deadlines))] = atMs
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
	for range g.between(3, 12) {
		g.say(pick(g.r, "TTL", "PTTL", "PTTL", "EXISTS", "TYPE", "PEXPIRETIME"), pick(g.r, g.keys["any"]...))
	}
	if g.chance(40) {
		g.say("KEYS", "*")
	}
}
