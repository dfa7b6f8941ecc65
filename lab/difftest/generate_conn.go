package main

// inline sends a command as a user of telnet does.
func (g *generator) inline() {
	raw := g.value("inlineLine") + pick(g.r, "\r\n", "\r\n", "\n")
	if g.chance(30) {
		raw = g.value("inlineEmpty") + raw
	}
	g.add(step{raw: raw})
}

// clientReply sends one group of glued steps: without its end, later replies would be waited for in vain.
func (g *generator) clientReply() {
	if g.conn != 0 || g.out == nil {
		return
	}
	g.add(step{args: []string{"RESET"}}) // ends an open MULTI, which would queue CLIENT REPLY
	quiet := func(silent bool, args ...string) { g.add(step{args: args, silent: silent, glue: true}) }
	if g.chance(50) {
		quiet(true, "CLIENT", "REPLY", "SKIP")
		quiet(true, g.dataCommand()...)
		quiet(false, "PING")
		return
	}
	quiet(true, "CLIENT", "REPLY", "OFF")
	for range g.between(0, 4) {
		quiet(true, g.dataCommand()...)
	}
	if g.chance(30) {
		quiet(true, "CLIENT", "REPLY", "SKIP")
	}
	quiet(false, "CLIENT", "REPLY", "ON")
	quiet(false, "PING")
}

// hangUp makes the servers close the connection, by QUIT or by a protocol error.
func (g *generator) hangUp() {
	if g.chance(40) {
		g.add(step{args: []string{pick(g.r, "QUIT", "quit")}, closes: true})
		return
	}
	g.add(step{closes: true, raw: g.value("broken")})
}

// user returns a user. A round that has users begins by deleting those of earlier rounds.
func (g *generator) user() string {
	users := []string{"u1", "u2", "u3"}
	if !g.users {
		g.users = true
		g.say(append([]string{"ACL", "DELUSER"}, users...)...)
		for _, u := range users[:2] {
			g.say("ACL", "SETUSER", u, "reset", "on", "nopass")
		}
	}
	return pick(g.r, users...)
}

// asUser logs in, runs commands and ends with RESET, which every user may send, so that the connection is the
// default user's again.
func (g *generator) asUser() {
	user := g.user()
	g.add(step{args: []string{"RESET"}}) // ends an open MULTI
	g.add(step{args: []string{"AUTH", user, pick(g.r, "p", "q", "x")}})
	multi := g.chance(20)
	if multi {
		g.add(step{args: []string{"MULTI"}})
	}
	for range g.between(1, 5) {
		call := g.dataCommand()
		if g.chance(10) {
			call = []string{"ACL", "WHOAMI"}
		}
		g.add(step{args: call})
	}
	if multi {
		g.add(step{args: []string{"EXEC"}})
	}
	g.add(step{args: []string{"RESET"}})
}
