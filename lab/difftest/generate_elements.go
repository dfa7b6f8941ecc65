package main

// allElements sends a command that reads all of a key, usually after OBJECT ENCODING, which shows whether the
// order counts.
func (g *generator) allElements(name, key string) {
	if g.capture == nil && g.chance(80) {
		g.send("OBJECT", "ENCODING", key)
		g.add(step{args: []string{name, key}, glue: true})
		return
	}
	g.command(name, key)
}

// scanElements sends HSCAN, SSCAN and ZSCAN. patterns are values for MATCH.
func (g *generator) scanElements(name, key string, patterns ...string) {
	args := []string{name, key, "0"}
	if g.chance(40) {
		args = append(args, g.spell("MATCH"), pick(g.r, patterns...))
	}
	if g.chance(40) {
		args = append(args, g.spell("COUNT"), pick(g.r, "25", "10", "1000", "1000", "0", "-1", "x"))
	}
	if g.capture == nil && g.chance(50) {
		g.add(step{args: args, iterate: true})
		return
	}
	if g.chance(10) {
		args[2] = pick(g.r, "x", "", "-1", "18446744073709551616", "1.5")
	}
	g.send(args...)
}

// pairedElements sends HRANDFIELD and ZRANDMEMBER. withs are spellings, right and wrong, of the option that
// asks for the values or scores.
func (g *generator) pairedElements(whole []string, name, key string, withs ...string) {
	args := []string{name, key}
	if g.chance(70) {
		args = append(args, pick(g.r, "0", "1", "2", "5", "-1", "-5", "-20", "200", "x", "1.5",
			"9223372036854775808"))
		if g.chance(50) {
			args = append(args, pick(g.r, withs...))
		}
	}
	g.randomElements(whole, args)
}

// randomElements sends a command that chooses at random after whole, which reads all of the key, so that the
// choice can be checked. It is never corrupted: a large negative count would ask for that many elements.
func (g *generator) randomElements(whole, args []string) {
	if g.capture == nil {
		g.send(whole...)
		g.add(step{args: args, glue: true})
		return
	}
	g.send(args...)
}
