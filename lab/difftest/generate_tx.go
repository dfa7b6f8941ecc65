package main

// txMakers generate whole transactions, some of them invalid, with writes of another connection in between.
var txMakers = []maker{
	{10, (*generator).multi},
	{5, (*generator).watch},
	{1, func(g *generator) {
		g.send(pick(g.r, "EXEC", "DISCARD", "UNWATCH"))
	}},
	{1, func(g *generator) { g.command("WATCH", g.key(), g.key()) }},
}

// dataCommand returns a command of the families that hold data, without sending it.
func (g *generator) dataCommand() []string {
	for {
		var args []string
		g.capture = &args
		switch g.r.IntN(9) {
		case 0, 1:
			g.choose(zsetMakers)
		case 4:
			g.choose(hashMakers)
		case 5:
			g.choose(setMakers)
		case 6:
			g.choose(listMakers)
		case 2:
			g.choose(stringMakers)
		case 7:
			g.sort()
		case 8:
			g.choose(bitMakers)
		default:
			g.choose(keyMakers)
		}
		g.capture = nil
		if args == nil {
			continue
		}
		if percent := g.plan.omit[commandName(args)]; percent > 0 && g.chance(percent) {
			continue
		}
		return args
	}
}

// body queues commands: usually data, sometimes scripts and connection commands.
func (g *generator) body() {
	for range g.between(0, 6) {
		switch n := g.r.IntN(100); {
		case n < 84:
			args := g.dataCommand()
			args[0] = g.spell(args[0])
			g.add(step{args: args})
		case n < 90:
			g.add(g.wrapInScript(g.dataCommand()))
		case n < 93:
			g.send("SELECT", pick(g.r, "0", "0", "1", "16", "x"))
		case n < 95:
			g.send(pick(g.r, "PING", "ECHO"), "hello")
		case n < 96:
			args := [][]string{
				{"HELLO", "3"},
				{"HELLO", "2"},
				{"CLIENT", "GETNAME"},
				{"CLIENT", "ID"},
				{"CONFIG", "GET", "timeout"},
				{"TIME"},
				{"SCRIPT", "EXISTS", "x"},
				{"COMMAND", "COUNT"},
				{"RESET"},
				{"INFO"},
			}
			g.send(pick(g.r, args...)...)
		case n < 97:
			g.send(pick(g.r, "SWAPDB", "FLUSHDB"), pick(g.r, "0", "x"), "1")
		case n < 98:
			g.send("UNWATCH")
		default:
			// Refused at once; some of them abort the transaction.
			g.send(pick(g.r, "MULTI", "WATCH", "NOSUCH", "GET", "SUBSTR2"), "x")
		}
	}
}

func (g *generator) multi() {
	if g.chance(2) {
		g.send("MULTI", "x")
	}
	g.send("MULTI")
	if g.chance(3) && g.nowMs == g.startMs {
		// The rest of the transaction is not paused. Nothing has expired yet: Redis 7.0 aborts when a key is
		// set that has expired during a pause (db.c:191).
		g.send("CLIENT", "PAUSE", pick(g.r, "1000000", "9999999999"), pick(g.r, "WRITE", "ALL", "all"))
		g.body()
		g.send("CLIENT", "UNPAUSE")
	} else {
		g.body()
	}
	switch n := g.r.IntN(100); {
	case n < 86:
		g.send("EXEC")
	case n < 96:
		g.send("DISCARD")
	case n < 98:
		g.send("EXEC", "x")
		g.send("EXEC")
	default:
		g.send("MULTI")
		g.send("EXEC")
	}
}

// watch sends a check-and-set: WATCH, perhaps a change by this connection, the other one or the clock, then
// EXEC.
func (g *generator) watch() {
	other := 1 - g.conn
	keys := []string{g.key()}
	if g.chance(40) {
		keys = append(keys, g.key())
	}
	if g.chance(25) && !g.plan.runningClock {
		ms := g.ttlMs()
		g.addDeadline(g.nowMs + ms)
		g.send("PEXPIRE", keys[0], itoa(ms))
	}
	g.send(append([]string{"WATCH"}, keys...)...)
	if g.chance(20) {
		g.send("GET", keys[0])
	}
	touch := func() {
		switch g.r.IntN(8) {
		case 0:
			g.send("DEL", keys[0])
		case 1:
			g.send("PEXPIRE", keys[0], g.deadline(1, false))
		case 2:
			g.send("ZADD", keys[0], "1", "1")
		case 3:
			g.send("GET", keys[0])
		case 4:
			g.send("SET", keys[0], "x")
			g.send("DEL", keys[0])
		case 5:
			g.send(pick(g.r, "PERSIST", "TOUCH", "INCR", "ZCARD"), keys[0])
		default:
			args := g.dataCommand()
			g.add(step{args: args})
		}
	}
	switch n := g.r.IntN(100); {
	case n < 30:
		g.onConn(other, touch)
	case n < 45:
		touch()
	case n < 50:
		g.onConn(other, func() { g.send(pick(g.r, "SWAPDB", "FLUSHDB"), pick(g.r, "0", "SYNC")) })
	case n < 53:
		g.onConn(other, func() { g.send("SWAPDB", "0", "1") })
	case n < 58:
		g.send("UNWATCH")
	case n < 62:
		g.send("SELECT", pick(g.r, "0", "1"))
	case n < 64 && !g.plan.runningClock:
		g.moveClock()
	}
	g.send("MULTI")
	g.body()
	if g.chance(20) {
		g.onConn(other, touch)
	}
	if g.chance(92) {
		g.send("EXEC")
	} else {
		g.send("DISCARD")
	}
}
