package main

// In some rounds the first two connections track what they read. Nothing expires in these: our server
// reclaims keys when its clock is moved, Redis when it accesses them, and both send invalidations then.

// track switches tracking on for connections 0 and 1.
func (g *generator) track() {
	g.tracks = true
	for conn := range 2 {
		g.onConn(conn, func() {
			g.add(step{args: []string{"HELLO", "3"}})
			g.add(step{args: append([]string{"CLIENT", "TRACKING", "ON"},
				pick(g.r, nil, []string{"NOLOOP"}, []string{"OPTIN"}, []string{"OPTOUT"})...)})
		})
	}
}

// tracked sends a read of keys on either connection, or compares the messages pushed since the last
// comparison.
func (g *generator) tracked() {
	g.onConn(g.r.IntN(2), func() {
		switch g.r.IntN(10) {
		case 0, 1, 2:
			g.add(step{args: []string{"PING"}, pushes: true})
		case 3:
			g.send("CLIENT", g.spell("CACHING"), pick(g.r, "YES", "NO"))
		case 4:
			g.send("CLIENT", pick(g.r, "TRACKINGINFO", "GETREDIR"))
		case 5:
			k := g.key()
			g.send("EVAL", "redis.call('type', KEYS[1]) return redis.call('del', KEYS[2])", "2", k, g.key())
		case 6:
			g.send("CLIENT", "TRACKING", pick(g.r, "ON", "OFF", "ON", "x"),
				pick(g.r, "NOLOOP", "OPTIN", "OPTOUT", "x"))
		default:
			g.send(append([]string{pick(g.r, "MGET", "EXISTS", "TOUCH", "SINTER", "SUNION")}, g.key(),
				g.key(), g.key())...)
		}
	})
}
