package main

// setMakers generate the set commands.
var setMakers = []maker{
	{14, (*generator).sadd},
	{5, func(g *generator) {
		args := []string{"SREM", g.plainSet()}
		for range g.between(1, 4) {
			args = append(args, g.setMember(args[1]))
		}
		g.command(args...)
	}},
	{2, func(g *generator) { g.command("SCARD", g.plainSet()) }},
	{3, func(g *generator) { k := g.plainSet(); g.command("SISMEMBER", k, g.setMember(k)) }},
	{2, func(g *generator) {
		k := g.plainSet()
		g.command("SMISMEMBER", k, g.setMember(k), g.setMember(k), g.setMember(k))
	}},
	{6, (*generator).smembers},
	{5, func(g *generator) {
		from := g.plainSet()
		g.command("SMOVE", from, g.plainSet(), g.setMember(from))
	}},
	{8, func(g *generator) { g.command(g.severalSets(pick(g.r, "SINTER", "SUNION", "SDIFF"))...) }},
	{6, func(g *generator) {
		g.command(g.severalSets(pick(g.r, "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"), g.plainSet())...)
	}},
	{3, (*generator).sinterCard},
	{4, (*generator).srandmember},
	{4, (*generator).spop},
	{3, (*generator).sscan},
	{4, func(g *generator) { g.send("OBJECT", "ENCODING", g.plainSet()) }},
}

// plainSet returns a key that should hold a set; rarely it holds something else.
func (g *generator) plainSet() string {
	if g.chance(95) {
		return pick(g.r, g.plainSets...)
	}
	return g.key()
}

// setMember returns a member that the key may hold: the first of the keys gets almost only integers.
func (g *generator) setMember(key string) string {
	switch {
	case g.chance(70):
		return itoa(g.between(-3, 12))
	case key == g.plainSets[0] && g.chance(97):
		return pick(g.r, integers...)
	default:
		return g.member()
	}
}

func (g *generator) sadd() {
	args := []string{"SADD", g.plainSet()}
	for range pick(g.r, 1, 1, 2, 3, 8) {
		args = append(args, g.setMember(args[1]))
	}
	g.command(args...)
}

// bigSet adds about as many integers as an intset may have.
func (g *generator) bigSet() {
	args := []string{"SADD", pick(g.r, g.plainSets...)}
	for i := range g.between(480, 620) {
		args = append(args, itoa(3*i))
	}
	g.send(args...)
}

func (g *generator) smembers() { g.allElements("SMEMBERS", g.plainSet()) }

// severalSets appends one to four keys to args.
func (g *generator) severalSets(args ...string) []string {
	for range g.between(1, 4) {
		args = append(args, g.plainSet())
	}
	return args
}

func (g *generator) sinterCard() {
	keys := g.severalSets()
	args := append([]string{"SINTERCARD", itoa(len(keys))}, keys...)
	if g.chance(8) {
		args[1] = pick(g.r, "0", "-1", "9", "x", "", "9223372036854775807")
	}
	if g.chance(40) {
		args = append(args, g.spell("LIMIT"), pick(g.r, "0", "1", "2", "100", "-1", "x"))
	}
	g.command(args...)
}

func (g *generator) srandmember() {
	k := g.plainSet()
	args := []string{"SRANDMEMBER", k}
	if g.chance(75) {
		args = append(args, pick(g.r, "0", "1", "2", "5", "-1", "-5", "-20", "1000", "x", "1.5",
			"9223372036854775808"))
	}
	if g.chance(4) {
		args = append(args, "x")
	}
	g.randomElements([]string{"SMEMBERS", k}, args)
}

// spop pops all, nothing, or some members of a copy. What remains is random, so only the copy's size is read
// afterwards.
func (g *generator) spop() {
	if g.capture != nil || g.chance(25) {
		g.send("SPOP", g.plainSet(), pick(g.r, "0", "0", "100000", "9223372036854775807", "-1", "x", ""))
		return
	}
	popped := "popped" + itoa(len(g.out))
	g.send("SUNIONSTORE", popped, g.plainSet())
	g.send("SMEMBERS", popped)
	args := []string{"SPOP", popped}
	if g.chance(70) {
		args = append(args, itoa(g.between(0, 12)))
	}
	g.add(step{args: args, glue: true})
	g.send("SCARD", popped)
	g.send("DEL", popped)
}

func (g *generator) sscan() {
	g.scanElements("SSCAN", g.plainSet(), "*", "1*", "m*", "[0-5]", "nothing", "\\*", "[^1]*", "")
}

// zcombine sends ZUNION and similar commands. Their destinations are never keys reserved for ranges by
// member.
func (g *generator) zcombine() {
	name := pick(g.r, "ZUNION", "ZINTER", "ZDIFF", "ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE", "ZINTERCARD")
	args := []string{name}
	store := len(name) > 7 && name != "ZINTERCARD"
	if store {
		args = append(args, pick(g.r, g.sets...))
	}
	var keys []string
	for range g.between(1, 3) {
		if g.chance(20) {
			keys = append(keys, g.plainSet())
		} else {
			keys = append(keys, g.set())
		}
	}
	count := itoa(len(keys))
	if g.chance(4) {
		count = pick(g.r, "0", "-1", "9", "x", "")
	}
	args = append(append(args, count), keys...)
	plain := name == "ZDIFF" || name == "ZDIFFSTORE" || name == "ZINTERCARD"
	if !plain && g.chance(45) || g.chance(2) {
		args = append(args, g.spell("WEIGHTS"))
		for range keys {
			args = append(args, pick(g.r, "1", "2", "0", "-1", "0.1", "-0.5", "inf", "-inf", "1e308",
				pick(g.r, floats...)))
		}
		if g.chance(3) {
			args = append(args[:len(args)-1], pick(g.r, notFloats...))
		}
	}
	if !plain && g.chance(40) || g.chance(2) {
		args = append(args, g.spell("AGGREGATE"), g.spell(pick(g.r, "SUM", "MIN", "MAX")))
	}
	if !store && name != "ZINTERCARD" && g.chance(60) || g.chance(2) {
		args = append(args, g.spell("WITHSCORES"))
	}
	if name == "ZINTERCARD" && g.chance(40) || g.chance(2) {
		args = append(args, g.spell("LIMIT"), pick(g.r, "0", "1", "2", "100", "-1", "x"))
	}
	if store && contains(g.lexes, args[1]) {
		return
	}
	g.send(args...)
}

func (g *generator) zrangestore() {
	args := []string{"ZRANGESTORE", pick(g.r, g.sets...)}
	switch g.r.IntN(4) {
	case 0:
		args = append(args, pick(g.r, g.lexes...), g.lexBound(), g.lexBound(), g.spell("BYLEX"))
	case 1, 2:
		k := g.notLex()
		args = append(args, k, g.boundOf(k), g.boundOf(k), g.spell("BYSCORE"))
	default:
		args = append(args, g.notLex(), g.index(), g.index())
	}
	if g.chance(30) {
		args = append(args, g.spell("REV"))
	}
	if len(args) > 5 && g.chance(30) || g.chance(2) {
		args = append(args, g.spell("LIMIT"), itoa(g.between(-1, 6)), itoa(g.between(-1, 9)))
	}
	if g.chance(2) {
		args = append(args, "WITHSCORES") // refused by Redis
	}
	g.send(args...)
}

// copyKey sends COPY and MOVE between the databases of the round.
func (g *generator) copyKey() {
	db := func() string {
		if g.chance(90) {
			return itoa(g.r.IntN(databases))
		}
		return pick(g.r, "16", "-1", "x", "", "2147483648", "99999999999999999999")
	}
	if g.chance(35) {
		g.command("MOVE", g.key(), db())
		return
	}
	args := []string{"COPY", g.key(), g.key()}
	if g.chance(40) {
		args = append(args, g.spell("DB"), db())
	}
	if g.chance(40) {
		args = append(args, g.spell("REPLACE"))
	}
	g.command(args...)
}
