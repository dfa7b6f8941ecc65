package main

// zsetMakers generate the sorted-set commands; those on logs are in generate_log.go.
var zsetMakers = []maker{
	{14, (*generator).zadd},
	{10, (*generator).logAppend},
	{6, (*generator).logBulk},
	{5, (*generator).logLimiter},
	{5, (*generator).logTrim},
	{6, (*generator).logRead},
	{1, (*generator).logForeign},
	{2, func(g *generator) {
		args := []string{"ZREM", g.set()}
		for range g.between(1, 3) {
			args = append(args, g.existingMember(args[1]))
		}
		g.command(args...)
	}},
	{3, func(g *generator) { g.command("ZCARD", g.set()) }},
	{3, func(g *generator) { k := g.set(); g.command("ZCOUNT", k, g.boundOf(k), g.boundOf(k)) }},
	{3, func(g *generator) { k := g.set(); g.command("ZSCORE", k, g.existingMember(k)) }},
	{2, func(g *generator) {
		k := g.set()
		g.command("ZMSCORE", k, g.existingMember(k), g.existingMember(k), g.existingMember(k))
	}},
	{3, func(g *generator) {
		k := g.mixedSet()
		if contains(g.lexes, k) {
			k = g.sets[0]
		}
		g.command("ZINCRBY", k, g.score(), g.existingMember(k))
	}},
	{3, func(g *generator) { k := g.set(); g.command("ZRANK", k, g.existingMember(k)) }},
	{3, func(g *generator) { k := g.set(); g.command("ZREVRANK", k, g.existingMember(k)) }},
	{9, (*generator).zrange},
	{4, (*generator).zrangeByLex},
	{5, func(g *generator) { g.zrangeByScore("ZRANGEBYSCORE") }},
	{4, func(g *generator) { g.zrangeByScore("ZREVRANGEBYSCORE") }},
	{4, func(g *generator) {
		args := []string{"ZREVRANGE", g.set(), g.index(), g.index()}
		if g.chance(50) {
			args = append(args, g.spell("WITHSCORES"))
		}
		g.command(args...)
	}},
	{2, func(g *generator) {
		k := g.set()
		g.command("ZREMRANGEBYSCORE", k, g.boundOf(k),
			"("+g.boundOf(k))
	}},
	{1, func(g *generator) { g.command("ZREMRANGEBYSCORE", g.set(), g.bound(), g.bound()) }},
	{2, func(g *generator) {
		g.command("ZREMRANGEBYRANK", g.set(), itoa(g.between(-4, 3)), itoa(g.between(-6, 3)))
	}},
	{3, func(g *generator) {
		if g.chance(30) {
			g.command(g.multiPop("ZMPOP", g.set, "MIN", "MAX")...)
			return
		}
		args := []string{pick(g.r, "ZPOPMIN", "ZPOPMAX"), g.set()}
		if g.chance(60) {
			args = append(args, g.count())
		}
		g.command(args...)
	}},
	{3, (*generator).zrandmember},
	{2, (*generator).zscan},
	{8, (*generator).zcombine},
	{4, (*generator).zrangestore},
}

// set returns a key that should hold a sorted set; rarely it holds something else.
func (g *generator) set() string {
	switch n := g.r.IntN(100); {
	case n < 45:
		return pick(g.r, g.sets...)
	case n < 85:
		return pick(g.r, g.logs...)
	case n < 92:
		return pick(g.r, g.lexes...)
	case n < 96:
		return pick(g.r, g.anyKeys...)
	default:
		return pick(g.r, g.texts...)
	}
}

// notLex returns a sorted-set key whose scores may vary. Ranges by member are defined only if all scores are
// equal, and Redis' own encodings answer them differently otherwise, so one key is reserved for them.
func (g *generator) notLex() string {
	for {
		k := g.set()
		if !contains(g.lexes, k) {
			return k
		}
	}
}

// existingMember returns a member that the key is likely to hold.
func (g *generator) existingMember(key string) string {
	if list := g.added[key]; len(list) > 0 && g.chance(75) {
		return pick(g.r, list...)
	}
	if at, ok := g.logAt[key]; ok && g.chance(70) {
		return itoa(at - int64(g.r.IntN(12)))
	}
	return g.member()
}

// newMember returns a member to add to the key, and records it.
func (g *generator) newMember(key string) string {
	m := g.member()
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
	return g.bound()
}

// mixedSet returns a key for members of any kind: rarely a log, which such a member converts to another
// encoding.
func (g *generator) mixedSet() string {
	for range 8 {
		k := g.set()
		if _, ok := g.logAt[k]; !ok || g.chance(2) {
			return k
		}
	}
	return g.sets[0]
}

func (g *generator) zadd() {
	args := []string{"ZADD", g.mixedSet()}
	lex := contains(g.lexes, args[1])
	incr := false
	if g.chance(30) && !lex {
		for range g.between(1, 2) {
			args = append(args, g.spell(pick(g.r, "NX", "XX", "GT", "LT", "CH", "CH")))
		}
		if incr = g.chance(20); incr {
			args = append(args, g.spell("INCR"))
		}
	}
	pairs := pick(g.r, 1, 1, 2, 3, 8)
	if incr && g.chance(90) {
		pairs = 1
	}
	if lex {
		pairs = g.between(1, 6)
	}
	for range pairs {
		switch {
		case lex:
			args = append(args, "0", g.newMember(args[1]))
		case g.chance(12):
			s := pick(g.r, floats...)
			args = append(args, s, s) // a member equal to its score, canonical or not
		default:
			args = append(args, g.score(), g.newMember(args[1]))
		}
	}
	if lex {
		g.send(args...) // a corrupted score would make the key useless for ranges by member
		return
	}
	g.command(args...)
}

func (g *generator) zrange() {
	args := []string{"ZRANGE", g.notLex()}
	byScore := g.chance(50)
	if byScore {
		args = append(args, g.boundOf(args[1]), g.boundOf(args[1]), g.spell("BYSCORE"))
	} else {
		args = append(args, g.index(), g.index())
	}
	if g.chance(30) {
		args = append(args, g.spell("REV"))
	}
	if (byScore && g.chance(30)) || g.chance(2) {
		args = append(args, g.spell("LIMIT"), itoa(g.between(-1, 6)), itoa(g.between(-1, 9)))
	}
	if g.chance(40) {
		args = append(args, g.spell("WITHSCORES"))
	}
	g.command(args...)
}

func (g *generator) zrangeByLex() {
	args := []string{"ZRANGE", pick(g.r, g.lexes...), g.lexBound(), g.lexBound(), g.spell("BYLEX")}
	if g.chance(30) {
		args = append(args, g.spell("REV"))
	}
	if g.chance(30) {
		args = append(args, g.spell("LIMIT"), itoa(g.between(-1, 6)), itoa(g.between(-1, 9)))
	}
	if g.chance(4) {
		args = append(args, "WITHSCORES") // refused by Redis
	}
	g.send(args...)
}

func (g *generator) zrangeByScore(name string) {
	k := g.set()
	args := []string{name, k, g.boundOf(k), g.boundOf(k)}
	if g.chance(40) {
		args = append(args, g.spell("WITHSCORES"))
	}
	if g.chance(30) {
		args = append(args, g.spell("LIMIT"), g.count(), itoa(g.between(-1, 9)))
	}
	g.command(args...)
}

func (g *generator) zrandmember() {
	k := g.set()
	g.pairedElements([]string{"ZRANGE", k, "0", "-1", "WITHSCORES"}, "ZRANDMEMBER", k, "WITHSCORES",
		"WITHSCORES", "withscores", "WITHSCORE")
}

func (g *generator) zscan() {
	g.scanElements("ZSCAN", g.set(), "*", "m*", "m1?", "[ab]*", "1*", "nothing", "\\*", "[^m]*", "")
}
