package main

// hashMakers generate the hash commands.
var hashMakers = []maker{
	{14, (*generator).hset},
	{2, func(g *generator) { k := g.hash(); g.command("HSETNX", k, g.field(), g.fieldValue()) }},
	{5, func(g *generator) { g.command("HGET", g.hash(), g.field()) }},
	{4, func(g *generator) {
		args := []string{"HMGET", g.hash()}
		for range g.between(1, 5) {
			args = append(args, g.field())
		}
		g.command(args...)
	}},
	{4, func(g *generator) {
		args := []string{"HDEL", g.hash()}
		for range g.between(1, 3) {
			args = append(args, g.field())
		}
		g.command(args...)
	}},
	{4, func(g *generator) { g.command(pick(g.r, "HEXISTS", "HSTRLEN"), g.hash(), g.field()) }},
	{2, func(g *generator) { g.command("HLEN", g.hash()) }},
	{7, func(g *generator) { g.command("HINCRBY", g.hash(), g.counterField(), g.integer()) }},
	{5, func(g *generator) {
		by := pick(g.r, floats...)
		if g.chance(60) {
			by = pick(g.r, "1", "0.1", "-0.1", "1.5", "5e-1", "3.0e3", "0", "1e15", "0.000001")
		} else if g.chance(10) {
			by = pick(g.r, notFloats...)
		}
		g.command("HINCRBYFLOAT", g.hash(), pick(g.r, "x0", "x1", g.counterField()), by)
	}},
	{9, (*generator).hgetall},
	{4, (*generator).hrandfield},
	{4, (*generator).hscan},
	{1, func(g *generator) { g.send("OBJECT", "ENCODING", g.hash()) }},
}

// hash returns a key that should hold a hash; rarely it holds something else.
func (g *generator) hash() string {
	if g.chance(94) {
		return pick(g.r, g.hashes...)
	}
	return g.key()
}

func (g *generator) field() string {
	if g.chance(80) {
		return "f" + itoa(g.between(0, 12))
	}
	return pick(g.r, sampleStrings...)
}

// counterField returns a field that usually holds a number.
func (g *generator) counterField() string {
	if g.chance(85) {
		return "n" + itoa(g.between(0, 3))
	}
	return g.field()
}

func (g *generator) fieldValue() string {
	if g.chance(35) {
		return g.integer()
	}
	return g.text()
}

func (g *generator) hset() {
	args := []string{pick(g.r, "HSET", "HSET", "HSET", "HMSET"), g.hash()}
	for range pick(g.r, 1, 1, 1, 2, 3, 8) {
		if g.chance(15) {
			args = append(args, g.counterField(), g.integer())
			continue
		}
		args = append(args, g.field(), g.fieldValue())
	}
	g.command(args...)
}

// bigHash sends a hash with more or fewer fields than Redis' limit of 512.
func (g *generator) bigHash() {
	args := []string{"HSET", pick(g.r, g.hashes...)}
	for i := range g.between(100, 600) {
		args = append(args, "e"+itoa(i), pick(g.r, itoa(i), g.integer()))
	}
	g.send(args...)
}

func (g *generator) hgetall() {
	k := g.hash()
	g.allElements(pick(g.r, "HGETALL", "HGETALL", "HKEYS", "HVALS"), k)
}

func (g *generator) hrandfield() {
	k := g.hash()
	g.pairedElements([]string{"HGETALL", k}, "HRANDFIELD", k, "WITHVALUES", "WITHVALUES", "withvalues",
		"WITHSCORES")
}

func (g *generator) hscan() {
	g.scanElements("HSCAN", g.hash(), "*", "f*", "f1?", "[ab]*", "1*", "nothing", "\\*", "[^f]*", "")
}
