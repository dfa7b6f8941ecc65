package main

// stringMakers generate the string commands, on keys that hold texts and keys that hold counters.
var stringMakers = []maker{
	{7, (*generator).setString},
	{6, func(g *generator) { g.command("SET", g.counter(), itoa(g.between(-5, 1000))) }},
	{2, func(g *generator) { g.command("SET", g.counter(), g.integer()) }},
	{6, func(g *generator) { g.command("GET", g.stringKey()) }},
	{2, func(g *generator) { g.command("SETEX", g.stringKey(), g.deadline(1000, false), g.text()) }},
	{2, func(g *generator) { g.command("PSETEX", g.stringKey(), g.deadline(1, false), g.text()) }},
	{2, func(g *generator) { g.command("SETNX", g.stringKey(), g.text()) }},
	{2, func(g *generator) { g.command("GETSET", g.stringKey(), g.text()) }},
	{1, func(g *generator) { g.command("GETDEL", g.stringKey()) }},
	{4, (*generator).getex},
	{3, func(g *generator) {
		args := []string{"MGET"}
		for range g.between(1, 4) {
			args = append(args, g.key())
		}
		g.command(args...)
	}},
	{2, func(g *generator) {
		args := []string{pick(g.r, "MSET", "MSETNX")}
		for range g.between(1, 3) {
			args = append(args, g.stringKey(), g.text())
		}
		g.command(args...)
	}},
	{5, func(g *generator) { g.command(pick(g.r, "INCR", "DECR"), g.counter()) }},
	{5, func(g *generator) { g.command(pick(g.r, "INCRBY", "DECRBY"), g.counter(), g.integer()) }},
	{4, func(g *generator) {
		by := pick(g.r, floats...)
		if g.chance(50) {
			by = pick(g.r, "1", "0.1", "-0.1", "1.5", "5e-1", "3.0e3", "0", "1e15", "0.000001")
		} else if g.chance(8) {
			by = pick(g.r, notFloats...)
		}
		k := pick(g.r, g.fractions...)
		if g.chance(25) {
			k = g.counter()
		}
		g.command("INCRBYFLOAT", k, by)
	}},
	{4, func(g *generator) { g.command("APPEND", g.stringKey(), g.text()) }},
	{3, func(g *generator) { g.command("STRLEN", g.stringKey()) }},
	{4, func(g *generator) { g.command("GETRANGE", g.stringKey(), g.index(), g.index()) }},
	{2, func(g *generator) { g.command("SUBSTR", g.stringKey(), g.index(), g.index()) }},
	{4, (*generator).lcs},
	{3, func(g *generator) {
		// Never corrupted, and no offset in between: both servers would allocate hundreds of megabytes.
		at := itoa(g.between(0, 40))
		if g.chance(12) {
			at = pick(g.r, "-1", "300", "536870912", "9223372036854775807", "x", "")
		}
		g.send("SETRANGE", g.stringKey(), at, g.text())
	}},
}

// text returns a value. It is short because APPEND makes values longer.
func (g *generator) text() string {
	if g.chance(25) {
		return g.integer()
	}
	return pick(g.r, sampleStrings...)
}

func (g *generator) lcs() {
	args := []string{"LCS", g.stringKey(), g.stringKey()}
	for range pick(g.r, 0, 1, 1, 2, 3) {
		switch g.r.IntN(6) {
		case 0:
			args = append(args, g.spell("LEN"))
		case 1, 2:
			args = append(args, g.spell("IDX"))
		case 3, 4:
			args = append(args, g.spell("MINMATCHLEN"), pick(g.r, "0", "1", "2", "4", g.integer()))
		default:
			args = append(args, g.spell("WITHMATCHLEN"))
		}
	}
	g.command(args...)
}

// stringKey returns a key that should hold a string; rarely it holds a sorted set.
func (g *generator) stringKey() string {
	switch n := g.r.IntN(100); {
	case n < 70:
		return pick(g.r, g.texts...)
	case n < 80:
		return pick(g.r, g.counters...)
	case n < 92:
		return pick(g.r, g.fractions...)
	default:
		return pick(g.r, g.anyKeys...)
	}
}

func (g *generator) counter() string {
	if g.chance(95) {
		return pick(g.r, g.counters...)
	}
	return g.stringKey()
}

// setString sends SET with any of its options, some of which exclude each other.
func (g *generator) setString() {
	args := []string{"SET", g.stringKey(), g.text()}
	for range pick(g.r, 0, 0, 1, 1, 2, 3) {
		switch g.r.IntN(8) {
		case 0:
			args = append(args, g.spell("NX"))
		case 1:
			args = append(args, g.spell("XX"))
		case 2, 3:
			args = append(args, g.spell("GET"))
		case 4:
			args = append(args, g.spell("KEEPTTL"))
		case 5:
			args = append(args, g.spell("EX"), g.deadline(1000, false))
		case 6:
			args = append(args, g.spell("PX"), g.deadline(1, false))
		default:
			if g.chance(50) {
				args = append(args, g.spell("EXAT"), g.deadline(1000, true))
			} else {
				args = append(args, g.spell("PXAT"), g.deadline(1, true))
			}
		}
	}
	g.command(args...)
}

func (g *generator) getex() {
	args := []string{"GETEX", g.stringKey()}
	switch g.r.IntN(7) {
	case 0:
	case 1:
		args = append(args, g.spell("PERSIST"))
	case 2:
		args = append(args, g.spell("EX"), g.deadline(1000, false))
	case 3:
		args = append(args, g.spell("PX"), g.deadline(1, false))
	case 4:
		args = append(args, g.spell("EXAT"), g.deadline(1000, true))
	case 5:
		args = append(args, g.spell("PXAT"), g.deadline(1, true))
	default:
		args = append(args, pick(g.r, "KEEPTTL", "NX", "EX", "PX 10", "PERSIST"), pick(g.r, "10", "PERSIST"))
	}
	g.command(args...)
}
