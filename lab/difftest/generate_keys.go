package main

// keyMakers generate the commands on keys of any type, and those on whole databases.
var keyMakers = []maker{
	{3, func(g *generator) { g.command(pick(g.r, "DEL", "UNLINK"), g.key()) }},
	{1, func(g *generator) { g.command(pick(g.r, "DEL", "UNLINK"), g.key(), g.key(), g.key()) }},
	{4, func(g *generator) {
		args := []string{pick(g.r, "EXISTS", "TOUCH")}
		for range g.between(1, 4) {
			args = append(args, g.key())
		}
		g.command(args...)
	}},
	{4, func(g *generator) { g.command("TYPE", g.key()) }},
	{16, (*generator).expire},
	{14, func(g *generator) { g.command(pick(g.r, "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), g.key()) }},
	{4, func(g *generator) { g.command("PERSIST", g.key()) }},
	{2, func(g *generator) { g.command(pick(g.r, "RENAME", "RENAMENX"), g.key(), g.key()) }},
	{4, (*generator).copyKey},
	{4, func(g *generator) { g.command("KEYS", g.pattern()) }},
	{5, (*generator).scan},
	{2, (*generator).randomkey},
	{7, func(g *generator) { g.command("OBJECT", g.spell("ENCODING"), g.key()) }},
	{1, func(g *generator) { g.command("OBJECT", pick(g.r, "NOSUCH", "ENCODING", ""), g.key()) }},
	{2, (*generator).dbsize},
	{2, (*generator).selectDB},
	{1, func(g *generator) {
		if g.chance(20) {
			g.send("SWAPDB", itoa(g.r.IntN(databases)), itoa(g.r.IntN(databases)))
		} else {
			g.send("SWAPDB", pick(g.r, "0", "x", "16", "-1"), pick(g.r, "0", "y", "99"))
		}
	}},
	{1, func(g *generator) {
		if g.chance(15) {
			g.send(pick(g.r, "FLUSHDB", "FLUSHALL"), pick(g.r, "SYNC", "ASYNC"))
		} else {
			g.send(pick(g.r, "FLUSHDB", "FLUSHALL"), "NOSUCH")
		}
	}},
}

func (g *generator) key() string { return pick(g.r, g.anyKeys...) }

func (g *generator) pattern() string {
	return pick(g.r, "*", "*", "?1*", "z*", "s[12]", "[^z]*", "n?", "*1", "\\*", "log[0-9]*", "[a-", "[z-a]1",
		"", "nothing", "*:*", "\\", "**1**")
}

func (g *generator) expire() {
	name := pick(g.r, "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")
	unitMs := int64(1000)
	if name[0] == 'P' {
		unitMs = 1
	}
	args := []string{name, g.key(), g.deadline(unitMs, name == "EXPIREAT" || name == "PEXPIREAT")}
	if g.chance(30) {
		args = append(args, g.spell(pick(g.r, "NX", "XX", "GT", "LT")))
		if g.chance(10) {
			args = append(args, pick(g.r, "NX", "XX", "GT", "LT", "CH"))
		}
	}
	g.command(args...)
}

func (g *generator) scan() {
	args := []string{"SCAN", "0"}
	if g.chance(40) {
		args = append(args, g.spell("MATCH"), g.pattern())
	}
	if g.chance(50) {
		args = append(args, g.spell("COUNT"), pick(g.r, "1", "3", "10", "1000", "1000", "0", "-1", "x"))
	}
	if g.chance(30) {
		args = append(args, g.spell("TYPE"), pick(g.r, "zset", "string", "STRING", "hash", "set", "list",
			"nosuch"))
	}
	if g.capture == nil && g.chance(60) {
		g.add(step{args: args, iterate: true})
		return
	}
	if g.chance(10) {
		args[1] = pick(g.r, "x", "", "-1", "18446744073709551616", "1.5")
	}
	g.send(args...)
}

func (g *generator) randomkey() {
	if g.capture != nil {
		g.send("RANDOMKEY")
		return
	}
	g.send("KEYS", "*")
	g.add(step{args: []string{"RANDOMKEY"}, glue: true})
}

// dbsize sends DBSIZE after a SCAN of everything: a count of entries includes keys that are due until they
// are removed, and Redis' SCAN removes them.
func (g *generator) dbsize() {
	if g.capture != nil {
		g.send("TYPE", g.key())
		return
	}
	g.send("SCAN", "0", "COUNT", "100000")
	g.add(step{args: []string{"DBSIZE"}, glue: true})
}

func (g *generator) selectDB() {
	if g.capture != nil {
		g.send("TYPE", g.key())
		return
	}
	switch n := g.r.IntN(100); {
	case n < 40:
		g.send("SELECT", "0")
	case n < 80:
		g.send("SELECT", itoa(g.r.IntN(databases)))
	default:
		g.send("SELECT", pick(g.r, "16", "-1", "x", "", "99999999999999999999"))
	}
}
