package main

// listMakers generate the list commands. Blocking ones are sent only if they find something, or inside MULTI:
// under a held clock nothing else would ever end them.
var listMakers = []maker{
	{16, func(g *generator) {
		args := []string{pick(g.r, "RPUSH", "LPUSH", "RPUSH", "LPUSH", "RPUSHX", "LPUSHX"), g.list()}
		for range pick(g.r, 1, 1, 2, 3, 8) {
			args = append(args, g.element())
		}
		g.command(args...)
	}},
	{6, func(g *generator) {
		args := []string{pick(g.r, "LPOP", "RPOP"), g.list()}
		if g.chance(50) {
			args = append(args, pick(g.r, "0", "1", "2", "3", g.count()))
		}
		g.command(args...)
	}},
	{2, func(g *generator) { g.command("LLEN", g.list()) }},
	{3, func(g *generator) { g.command(g.multiPop("LMPOP", g.list, "LEFT", "RIGHT")...) }},
	{8, func(g *generator) { g.command("LRANGE", g.list(), g.index(), g.index()) }},
	{6, func(g *generator) { g.command("LINDEX", g.list(), g.index()) }},
	{4, func(g *generator) { g.command("LSET", g.list(), g.index(), g.element()) }},
	{2, func(g *generator) {
		g.command("LTRIM", g.list(), pick(g.r, "0", "0", "1", "-12", g.index()),
			pick(g.r, "-1", "-1", "-2", "12", g.index()))
	}},
	{4, func(g *generator) {
		g.command("LREM", g.list(), pick(g.r, "0", "1", "-1", "2", "-2", g.integer()), g.element())
	}},
	{5, func(g *generator) {
		g.command("LINSERT", g.list(), g.spell(pick(g.r, "BEFORE", "AFTER")), g.element(), g.element())
	}},
	{6, func(g *generator) {
		args := []string{"LPOS", g.list(), g.element()}
		if g.chance(60) {
			args = append(args, g.spell("RANK"), pick(g.r, "1", "-1", "2", "-2", "3", "0", g.integer()))
		}
		if g.chance(50) {
			args = append(args, g.spell("COUNT"), g.count())
		}
		if g.chance(30) {
			args = append(args, g.spell("MAXLEN"), pick(g.r, "0", "1", "3", "10", g.count()))
		}
		g.command(args...)
	}},
	{6, func(g *generator) {
		g.command("LMOVE", g.list(), g.list(), g.spell(g.listEnd()), g.spell(g.listEnd()))
	}},
	{2, func(g *generator) { g.command("RPOPLPUSH", g.list(), g.list()) }},
	{2, func(g *generator) { g.send("OBJECT", "ENCODING", g.list()) }},
	{5, (*generator).blocking},
	{2, (*generator).blockingInMulti},
}

// list returns a key that should hold a list; rarely it holds something else.
func (g *generator) list() string {
	if g.chance(94) {
		return pick(g.r, g.lists...)
	}
	return g.key()
}

// element returns one of a few values, so that they repeat.
func (g *generator) element() string {
	if g.chance(85) {
		return "e" + itoa(g.between(0, 6))
	}
	return g.text()
}

func (g *generator) listEnd() string { return pick(g.r, "LEFT", "RIGHT", "LEFT", "RIGHT", "UP") }

// bigList sends a list longer than a chunk of ours and than a node of Redis'.
func (g *generator) bigList() {
	args := []string{"RPUSH", pick(g.r, g.lists...)}
	for range g.between(100, 900) {
		args = append(args, g.element())
	}
	g.send(args...)
}

// blocking sends a push and, glued to it, the pop that therefore finds something, or a key of a wrong type.
func (g *generator) blocking() {
	if g.capture != nil {
		g.send("LLEN", g.list())
		return
	}
	k := g.list()
	push, pop := []string{"RPUSH", k, g.element()}, []string{pick(g.r, "BLPOP", "BRPOP"), k, "0"}
	switch g.r.IntN(7) {
	case 3:
		pop = []string{"BRPOPLPUSH", k, g.list(), "0"}
	case 4:
		// multiPop may generate arguments that are refused; here the first key must exist.
		pop = []string{
			"BLMPOP", "0", "2", k, g.list(), pick(g.r, "LEFT", "RIGHT"), "COUNT",
			itoa(g.between(1, 5)),
		}
	case 5:
		k = pick(g.r, g.sets...)
		push, pop = []string{"ZADD", k, "1.5", g.member()}, []string{
			"BZMPOP", "0", "2", k, g.list(),
			pick(g.r, "MIN", "MAX"), "COUNT", itoa(g.between(1, 5)),
		}
	case 0:
		pop = []string{"BLMOVE", k, g.list(), pick(g.r, "LEFT", "RIGHT"), pick(g.r, "LEFT", "RIGHT"), "0"}
	case 1:
		push, pop = []string{"ZADD", k, g.score(), g.member()}, []string{
			pick(g.r, "BZPOPMIN", "BZPOPMAX"), k,
			"0",
		}
		if g.chance(60) {
			push[1], pop[1] = g.sets[0], g.sets[0]
		}
		push[2] = "1.5" // an invalid score would leave nothing to pop
	case 2:
		pop = []string{pop[0], pick(g.r, g.lists...), k, "0.5"}
	}
	g.add(step{args: push})
	g.add(step{args: pop, glue: true})
}

// multiPop returns LMPOP or ZMPOP with its arguments, some of them wrong.
func (g *generator) multiPop(name string, key func() string, ends ...string) []string {
	keys := g.between(1, 3)
	args := []string{name, pick(g.r, itoa(keys), itoa(keys), itoa(keys), itoa(keys), itoa(keys), itoa(keys),
		g.integer())}
	for range keys {
		args = append(args, key())
	}
	args = append(args, g.spell(pick(g.r, ends...)))
	if g.chance(50) {
		args = append(args, g.spell("COUNT"), pick(g.r, "1", "2", "3", g.count()))
	}
	return args
}

// blockingInMulti sends a transaction, in which nothing blocks, with arguments that are refused anyway.
func (g *generator) blockingInMulti() {
	if g.capture != nil {
		g.send("LLEN", g.list())
		return
	}
	g.add(step{args: []string{"MULTI"}})
	for range g.between(1, 4) {
		timeout := pick(g.r, "0", "0.01", "1", "-1", "x", "", "inf", "1e300", "9223372036854776", "0x10")
		args := [][]string{
			{"BLPOP", g.list(), timeout},
			{"BRPOP", g.list(), g.list(), timeout},
			{"BLMOVE", g.list(), g.list(), g.listEnd(), g.listEnd(), timeout},
			{pick(g.r, "BZPOPMIN", "BZPOPMAX"), pick(g.r, g.sets[0], g.list()), timeout},
			{"BRPOPLPUSH", g.list(), g.list(), timeout},
			append([]string{"BLMPOP", timeout}, g.multiPop("", g.list, "LEFT", "RIGHT")[1:]...),
			append([]string{"BZMPOP", timeout}, g.multiPop("", g.set, "MIN", "MAX")[1:]...),
			{"BLPOP", timeout},
			{"RPUSH", g.list(), g.element()},
		}
		g.add(step{args: pick(g.r, args...), glue: true})
	}
	g.add(step{args: []string{"EXEC"}, glue: true})
}
