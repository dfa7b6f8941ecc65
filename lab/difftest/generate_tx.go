package main

import "slices"

// body queues commands: usually data, sometimes scripts and connection commands.
func (g *generator) body() {
	for range g.between(0, 6) {
		switch n := g.r.IntN(100); {
		case n < 84:
			g.add(step{args: g.dataCommand()})
		case n < 90:
			g.add(g.wrapInScript(g.dataCommand()))
		default:
			g.add(step{args: g.words("queued")})
		}
	}
}

func (g *generator) transaction() {
	if g.chance(2) {
		g.say("MULTI", "x")
	}
	g.say("MULTI")
	if g.chance(3) && g.nowMs == g.startMs {
		// The rest of the transaction is not paused. Nothing has expired yet: Redis 7.0 aborts when a key is
		// set that has expired during a pause (db.c:191).
		g.say("CLIENT", "PAUSE", pick(g.r, "1000000", "9999999999"), pick(g.r, "WRITE", "ALL", "all"))
		g.body()
		g.say("CLIENT", "UNPAUSE")
	} else {
		g.body()
	}
	switch n := g.r.IntN(100); {
	case n < 86:
		g.say("EXEC")
	case n < 96:
		g.say("DISCARD")
	case n < 98:
		g.say("EXEC", "x")
		g.say("EXEC")
	default:
		g.say("MULTI")
		g.say("EXEC")
	}
}

// checkAndSet sends WATCH, perhaps a change by this connection, the other one or the clock, then EXEC.
func (g *generator) checkAndSet() {
	other := 1 - g.conn
	key := g.value("key")
	watched := []string{"WATCH", key}
	if g.chance(40) {
		watched = append(watched, g.value("key"))
	}
	if g.chance(25) && !g.plan.runningClock {
		g.say("PEXPIRE", key, g.due(1, false))
	}
	g.say(watched...)
	if g.chance(20) {
		g.say("GET", key)
	}
	touch := func() {
		args := g.words("touch", key)
		g.add(step{args: args})
		if len(args) == 3 && slices.Equal(args[1:], []string{key, "x"}) && g.chance(80) {
			g.say("DEL", key) // what has changed is as it was
		}
	}
	switch n := g.r.IntN(100); {
	case n < 30:
		g.onConn(other, touch)
	case n < 45:
		touch()
	case n < 50:
		g.onConn(other, func() { g.say(pick(g.r, "SWAPDB", "FLUSHDB"), pick(g.r, "0", "SYNC")) })
	case n < 53:
		g.onConn(other, func() { g.say("SWAPDB", "0", "1") })
	case n < 58:
		g.say("UNWATCH")
	case n < 62:
		g.say("SELECT", pick(g.r, "0", "1"))
	case n < 64 && !g.plan.runningClock:
		g.moveClock()
	}
	g.say("MULTI")
	g.body()
	if g.chance(20) {
		g.onConn(other, touch)
	}
	g.say(pick(g.r, "EXEC", "EXEC", "EXEC", "EXEC", "EXEC", "EXEC", "EXEC", "EXEC", "EXEC", "DISCARD"))
}
