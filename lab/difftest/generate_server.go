package main

import (
	"regexp"
	"slices"
)

// blocking matches the names of commands that wait for an element.
var blocking = regexp.MustCompile(`(?i)^b[lrz]`)

// exhaustMemory sends commands of all other families while memory is exhausted: those that could need memory
// are refused, in transactions and scripts, too.
func (g *generator) exhaustMemory() {
	if g.users {
		return
	}
	g.say("CONFIG", "SET", "maxmemory", "1")
	// What a blocking command pops may have been refused.
	g.several(g.between(1, 40), others("oom", "acl"), nil)
	g.say("CONFIG", "SET", "maxmemory", "0")
}

// several sends n forms of the families, without the steps that block or that omit matches.
func (g *generator) several(n int, names []string, omit func(step) bool) {
	first := len(g.out)
	for range n {
		g.chooseOf(names)
	}
	calm := slices.DeleteFunc(slices.Clone(g.out[first:]), func(s step) bool {
		return omit != nil && omit(s) || len(s.args) > 0 && blocking.MatchString(s.args[0])
	})
	g.out = append(g.out[:first], calm...)
}

// logAll sends commands of other families while every call is an entry of SLOWLOG. A blocking command is an
// entry when it is served or gives up, by a clock of its own. What Redis does not know is no entry there, and
// cursors differ.
func (g *generator) logAll() {
	if g.users {
		return
	}
	g.say("CONFIG", "SET", "slowlog-log-slower-than", "0")
	g.say("SLOWLOG", "RESET")
	g.several(g.between(1, 30), others("oom", "acl", "tx"), func(s step) bool {
		return s.iterate || exceptions[s.name()].when == alsoErrors
	})
	g.say("SLOWLOG", "LEN")
	g.say("SLOWLOG", "GET", pick(g.r, "-1", "128", "3"))
	g.say("CONFIG", "SET", "slowlog-log-slower-than", "10000")
}

// digest compares digests of the keyspace until the clock is moved: Redis' have expired keys until they are
// reclaimed.
func (g *generator) digest() {
	if g.nowMs <= g.lastMs-roundSpanMs/2 {
		g.add(step{args: g.words("digest")})
	}
}
