package main

import "strings"

// aclMakers generate users, their rules, and calls as those users. A round that has users
// begins by deleting those of earlier rounds. Each call as a user is a login, some commands
// and RESET, which every user may send, so that connections are the default user's again.
var aclMakers = []maker{
	{10, func(g *generator) { g.send(append([]string{"ACL", "SETUSER", g.user()}, g.rules()...)...) }},
	{3, func(g *generator) { g.send("ACL", "GETUSER", g.user()) }},
	{1, func(g *generator) { g.send("ACL", "LIST") }},
	{1, func(g *generator) { g.send("ACL", pick(g.r, "USERS", "WHOAMI")) }},
	{1, func(g *generator) { g.send("ACL", "DELUSER", g.user()) }},
	{1, func(g *generator) { g.send("CLIENT", "KILL", "USER", pick(g.r, "nobody", "u1")) }},
	{1, func(g *generator) {
		args := [][]string{
			{"ACL"},
			{"ACL", "NOSUCH"},
			{"ACL", "CAT", "nosuch"},
			{"ACL", "DELUSER", "default"},
			{"ACL", "DRYRUN", "nobody", "get", "a"},
			{"ACL", "DRYRUN", "u1", "nosuch"},
			{"ACL", "DRYRUN", "u1", "config"},
			{"ACL", "DRYRUN", "default", "get"},
			{"ACL", "GENPASS", "0"},
			{"ACL", "LOG", "x"},
			{"ACL", "LOG", "RESET"},
			{"ACL", "SETUSER", "a b", "on"},
		}
		g.send(pick(g.r, args...)...)
	}},
	{12, func(g *generator) {
		call := g.dataCommand()
		if g.chance(20) {
			call = g.channelCommand()
		}
		g.send(append([]string{"ACL", "DRYRUN", g.user()}, call...)...)
	}},
	{6, (*generator).asUser},
}

var aclUsers = []string{"u1", "u2", "u3"}

func (g *generator) user() string {
	if !g.users {
		g.users = true
		g.send(append([]string{"ACL", "DELUSER"}, aclUsers...)...)
		for _, u := range aclUsers[:2] {
			g.send("ACL", "SETUSER", u, "reset", "on", "nopass")
		}
	}
	return pick(g.r, aclUsers...)
}

// asUser runs commands as a user.
func (g *generator) asUser() {
	user := g.user()
	g.add(step{args: []string{"RESET"}}) // ends an open MULTI
	g.add(step{args: []string{"AUTH", user, pick(g.r, "p", "q", "x")}})
	multi := g.chance(20)
	if multi {
		g.add(step{args: []string{"MULTI"}})
	}
	for range g.between(1, 5) {
		call := g.dataCommand()
		if g.chance(10) {
			call = []string{"ACL", "WHOAMI"}
		}
		g.add(step{args: call})
	}
	if multi {
		g.add(step{args: []string{"EXEC"}})
	}
	g.add(step{args: []string{"RESET"}})
}

func (g *generator) channelCommand() []string {
	name := pick(g.r, "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "PUBLISH", "SPUBLISH", "UNSUBSCRIBE")
	if strings.HasSuffix(name, "PUBLISH") {
		return []string{name, pick(g.r, aclChannels...), "m"}
	}
	return []string{name, pick(g.r, aclChannels...), pick(g.r, aclChannels...)}
}

var aclChannels = []string{"ch1", "ch2", "ch*", "other", "", "c[a]"}

// rules returns some rules, seldom a wrong one.
func (g *generator) rules() []string {
	var out []string
	for range g.between(0, 6) {
		rule := g.rule()
		if g.chance(15) {
			rule = "(" + strings.Join([]string{g.selectorRule(), g.selectorRule()}, " ") + ")"
		}
		out = append(out, strings.Fields(rule)...)
	}
	if g.chance(5) {
		out = append(out, pick(g.r, "nosuch", "+nosuch", "-nosuch", "+@nosuch", "+config|nosuch", "-select|0",
			"#x",
			"<none", "%X~a", "(+get", "%", "+get|", "!abc"))
	}
	return out
}

func (g *generator) rule() string {
	if g.chance(25) {
		return pick(g.r, "on", "off", "nopass", "resetpass", ">p", ">q", "<p", "<q", "reset",
			"clearselectors",
			"sanitize-payload", "skip-sanitize-payload",
			"#"+strings.Repeat("0", 64), "!"+strings.Repeat("0", 64))
	}
	return g.selectorRule()
}

func (g *generator) selectorRule() string {
	sign := pick(g.r, "+", "+", "-")
	switch g.between(0, 9) {
	case 0, 1:
		return sign + "@" + pick(g.r, aclCategories...)
	case 2, 3:
		return sign + pick(g.r, knownCommands...)
	case 4:
		return sign + pick(g.r, "config|get", "config|set", "client|kill", "object|encoding", "xgroup|create",
			"xadd", "config", "client", "acl|whoami", "script", "pfadd", "debug")
	case 5:
		return pick(g.r, "+select|0", "+select|1", "+get|a", "+GET|A", "+debug|object", "+ping|x")
	case 6:
		return pick(g.r, "allcommands", "nocommands", "+@all", "-@all", "allkeys", "resetkeys", "~*")
	case 7:
		return pick(g.r, "allchannels", "resetchannels", "&ch1", "&ch*", "&c[a]", "&", "&*")
	}
	return pick(g.r, "~", "~", "%R~", "%W~", "%RW~", "%r~") +
		pick(g.r, "z*", "s*", "h1", "n?", "*", "l*", "[a-m]*", "i1")
}

// aclCategories are Redis'.
var aclCategories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction",
	"scripting", "READ",
}
