package main

import (
	"regexp"
	"slices"
)

// blocking matches the names of commands that wait for an element.
var blocking = regexp.MustCompile(`(?i)^b[lrz]`)

var oomMakers = []maker{{1, (*generator).exhaustMemory}}

// exhaustMemory sends commands of all other families while memory is exhausted: those that could need memory
// are refused, in transactions and scripts, too.
func (g *generator) exhaustMemory() {
	if g.capture != nil || g.users {
		return
	}
	var others []maker
	for _, f := range familyWeights {
		if f.weight > 0 && f.name != "oom" && f.name != "acl" {
			others = append(others, maker{f.weight, func(g *generator) { g.choose(g.tables[f.name]) }})
		}
	}
	g.send("CONFIG", "SET", "maxmemory", "1")
	first := len(g.out)
	for range g.between(1, 40) {
		g.choose(others)
	}
	// What a blocking command pops may have been refused.
	calm := slices.DeleteFunc(slices.Clone(g.out[first:]), func(s step) bool {
		return len(s.args) > 0 && blocking.MatchString(s.args[0])
	})
	g.out = append(g.out[:first], calm...)
	g.send("CONFIG", "SET", "maxmemory", "0")
}
