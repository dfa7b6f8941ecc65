package main

import "slices"

// observeMakers generate what an operator asks. They are used only if -family names them.
var observeMakers = []maker{
	{2, (*generator).logAll},
	{4, func(g *generator) { g.command("MEMORY", "USAGE", g.key()) }},
	{1, func(g *generator) {
		g.command("MEMORY", "USAGE", g.key(), "SAMPLES", pick(g.r, "0", "5", "-1", "x", ""))
	}},
	{6, func(g *generator) {
		if g.nowMs > g.lastMs-roundSpanMs/2 {
			return // Redis' digests have expired keys until they are reclaimed
		}
		g.send(pick(g.r, []string{"DEBUG", "DIGEST"}, []string{"DEBUG", "DIGEST-VALUE", g.key(), g.key()})...)
	}},
	{2, func(g *generator) {
		g.send("DEBUG", "PROTOCOL", pick(g.r, "string", "integer", "double", "null", "array", "set", "map",
			"attrib", "verbatim", "true", "false", "bignumber"))
	}},
	{2, func(g *generator) {
		args := [][]string{
			{"LATENCY", "RESET"},
			{"LATENCY", "RESET", "command", "nosuch"},
			{"LATENCY", "LATEST"},
			{"LATENCY", "HISTORY", "command"},
			{"LATENCY", "GRAPH", "command"},
			{"LATENCY", "GRAPH"},
			{"LATENCY", "DOCTOR"},
			{"LATENCY", "DOCTOR", "x"},
			{"LATENCY", "HISTOGRAM", "nosuch"},
			{"LATENCY", "NOSUCH"},
			{"LATENCY"},
			{"MEMORY"},
			{"MEMORY", "NOSUCH"},
			{"MEMORY", "STATS"},
			{"MEMORY", "STATS", "x"},
			{"MEMORY", "DOCTOR"},
			{"MEMORY", "MALLOC-STATS"},
			{"MEMORY", "PURGE"},
			{"SLOWLOG"},
			{"SLOWLOG", "NOSUCH"},
			{"SLOWLOG", "GET", "-2"},
			{"SLOWLOG", "GET", "x"},
			{"SLOWLOG", "GET", "1", "2"},
			{"SLOWLOG", "LEN", "x"},
			{"DEBUG", "ERROR", "TEXT of an error"},
			{"DEBUG", "NOSUCH"},
			{"DEBUG"},
			{"DEBUG", "SLEEP", "0"},
			{"DEBUG", "SLEEP"},
			{"DEBUG", "CHANGE-REPL-ID"},
			{"DEBUG", "SET-ACTIVE-EXPIRE", "1"},
			{"DEBUG", "OBJECT", "no such key"},
		}
		g.send(pick(g.r, args...)...)
	}},
}

// logAll sends commands of other families while every call is an entry of SLOWLOG.
func (g *generator) logAll() {
	if g.capture != nil || g.users {
		return
	}
	var others []maker
	for _, f := range familyWeights {
		if f.weight > 0 && !slices.Contains([]string{"oom", "acl", "tx"}, f.name) {
			others = append(others, maker{f.weight, func(g *generator) { g.choose(g.tables[f.name]) }})
		}
	}
	g.send("CONFIG", "SET", "slowlog-log-slower-than", "0")
	g.send("SLOWLOG", "RESET")
	first := len(g.out)
	for range g.between(1, 30) {
		g.choose(others)
	}
	// A blocking command is an entry when it is served or gives up, by a clock of its own. What
	// Redis does not know is no entry there, and cursors differ.
	calm := slices.DeleteFunc(slices.Clone(g.out[first:]), func(s step) bool {
		return s.iterate || exceptions[s.name()].when == alsoErrors ||
			len(s.args) > 0 && blocking.MatchString(s.args[0])
	})
	g.out = append(g.out[:first], calm...)
	g.send("SLOWLOG", "LEN")
	g.send("SLOWLOG", "GET", pick(g.r, "-1", "128", "3"))
	g.send("CONFIG", "SET", "slowlog-log-slower-than", "10000")
}

// slowEntries compares entries of SLOWLOG GET: arguments, and names of clients.
func slowEntries(s comparison) string {
	if d := sameShape(s); d != "" {
		return d
	}
	for i := range s.ref.elems {
		a, b := s.ref.elems[i].elems, s.ours.elems[i].elems
		if len(a) != 6 || a[3].key() != b[3].key() || a[5].key() != b[5].key() {
			return "different entries"
		}
	}
	return ""
}

// fieldNames compares the names in maps, and arrays of name and value.
func fieldNames(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of elements"
	}
	for i := 0; i < len(s.ref.elems); i += 2 {
		if s.ref.elems[i].key() != s.ours.elems[i].key() {
			return "different names"
		}
	}
	return ""
}
