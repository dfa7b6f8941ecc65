package main

// bitMakers generate the commands on the bits of strings.
var bitMakers = []maker{
	{10, func(g *generator) { g.bitCommand("SETBIT", g.bitKey(), g.bitOffset(), g.bit()) }},
	{6, func(g *generator) { g.bitCommand("GETBIT", g.bitKey(), g.bitOffset()) }},
	{8, func(g *generator) { g.bitCommand(g.bitRange("BITCOUNT", g.bitKey())...) }},
	{8, func(g *generator) { g.bitCommand(g.bitRange("BITPOS", g.bitKey(), g.bit())...) }},
	{8, (*generator).bitop},
	{4, func(g *generator) { // if all bits are the same, a search reaches the end
		g.bitCommand("SET", g.bitKey(), pick(g.r, "\xff", "\xff\xff\xff",
			"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf7", "\x00\x00",
			"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10"))
	}},
	{20, (*generator).bitfield},
	{1, func(g *generator) {
		replicas := pick(g.r, "0", "-1", "x")
		if g.plan.replicated {
			replicas = "x" // how many have acknowledged by now is chance
		}
		g.bitCommand("WAIT", replicas, pick(g.r, "0", "1", "-1", "x", ""))
	}},
	{1, func(g *generator) { g.bitCommand("LOLWUT", "VERSION", pick(g.r, "7", "0", "x")) }},
}

// bitCommand sends a command without junk: as an offset it could make both servers allocate hundreds of
// megabytes.
func (g *generator) bitCommand(args ...string) {
	args[0] = g.spell(args[0])
	if g.chance(2) {
		args = args[:g.between(1, len(args))]
	}
	g.send(args...)
}

// bitKey returns a key for bit commands: usually a text, often a number.
func (g *generator) bitKey() string {
	if g.chance(30) {
		return g.counter()
	}
	return g.stringKey()
}

func (g *generator) bit() string {
	if g.chance(4) {
		return pick(g.r, "2", "-1", "x", "", "01", "1.0")
	}
	return pick(g.r, "0", "1")
}

func (g *generator) bitOffset() string {
	if g.chance(6) {
		return pick(g.r, "-1", "x", "", "#1", "4294967296", "9223372036854775807", "1.5", "+1")
	}
	return itoa(g.between(0, 300))
}

// bitRange appends a range, or part of one, to a command.
func (g *generator) bitRange(args ...string) []string {
	for range g.r.IntN(3) {
		args = append(args, g.index())
	}
	if g.chance(40) {
		args = append(args, g.spell(pick(g.r, "BYTE", "BIT", "BIT", "WORD")))
	}
	return args
}

func (g *generator) bitop() {
	args := []string{"BITOP", g.spell(pick(g.r, "AND", "OR", "XOR", "NOT", "NOT", "NAND")), g.bitKey()}
	for range pick(g.r, 1, 1, 2, 3) {
		args = append(args, g.bitKey())
	}
	g.bitCommand(args...)
}

// bitfield sends BITFIELD, or BITFIELD_RO, with some operations.
func (g *generator) bitfield() {
	args := []string{pick(g.r, "BITFIELD", "BITFIELD", "BITFIELD", "BITFIELD_RO"), g.bitKey()}
	for range g.between(0, 4) {
		if g.chance(40) {
			args = append(args, g.spell("OVERFLOW"), g.spell(pick(g.r, "WRAP", "SAT", "SAT", "FAIL", "FAIL",
				"NOSUCH")))
		}
		kind := pick(g.r, "GET", "SET", "INCRBY", "INCRBY")
		if args[0] == "BITFIELD_RO" && g.chance(90) {
			kind = "GET"
		}
		args = append(args, g.spell(kind), g.fieldType(), g.fieldOffset())
		if kind != "GET" {
			args = append(args, g.fieldAmount())
		}
	}
	g.bitCommand(args...)
}

func (g *generator) fieldType() string {
	if g.chance(4) {
		return pick(g.r, "u64", "i65", "u0", "i0", "U8", "8", "", "u", "i-1")
	}
	return pick(g.r, "u", "i") + itoa(pick(g.r, 1, 2, 4, 5, 7, 8, 8, 8, 9, 16, 31, 32, 33, 63))
}

func (g *generator) fieldOffset() string {
	if g.chance(30) {
		return "#" + itoa(g.between(0, 12))
	}
	return g.bitOffset()
}

func (g *generator) fieldAmount() string {
	if g.chance(50) {
		return itoa(g.between(-9, 9))
	}
	return g.integer()
}
