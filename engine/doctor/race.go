package doctor

import "github.com/zlimit/zlimit/commands"

// A race is what the doctor remembers of the clients that check and change one key.
type race struct {
	hash     uint64
	hits     uint32 // so far
	sets     uint32 // how often it was set to an integer
	hitFirst bool   // a client adds its hit before it counts, which is right
	clients  [4]racer
}

// A racer is a client of a race, for as long as it uses the key at least once a second.
type racer struct {
	client  int64 // 0: none
	usedMs  int64
	checked bool   // and has not added since
	hits    uint32 // the race's when it checked
	began   bool   // with a hit, not with a check

	hasValue bool   // the client has the key's value, and has not set it since
	value    int64  // an integer
	changes  uint32 // the race's hits and sets when it got that
}

// race returns what is remembered of the call's key.
func (o *call) race() *race {
	k := &o.shard.races[o.hash%uint64(len(o.shard.races))]
	if k.hash != o.hash {
		*k = race{hash: o.hash}
	}
	return k
}

// decideMs is how long a client may take from its check to its hit.
const decideMs = 1000

// racer returns a client's part. If there is none it makes one, or returns nil if others
// use the key at this time.
func (k *race) racer(client, nowMs int64, adds bool) *racer {
	var free *racer
	for i := range k.clients {
		switch c := &k.clients[i]; {
		case c.client == client && nowMs-c.usedMs <= decideMs:
			c.usedMs = nowMs
			return c
		case c.client == client || c.client == 0 || nowMs-c.usedMs > decideMs:
			free = c
		}
	}
	if free != nil {
		*free = racer{client: client, usedMs: nowMs, began: adds}
	}
	return free
}

// checkThenAdd finds a hit whose client had checked before another client's hit. A client
// that first checks and one that first adds send the same commands in turns: which one it
// is, the first command says that it sends after a pause. Checks in a script are for the
// script, and no hit of another client comes into an EXEC.
func checkThenAdd(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	if o.cmd.Is(commands.ReadOnly) {
		o.noteCheck()
		return
	}
	if o.cmd.Name == "zadd" && !o.zaddHit().timed {
		return
	}
	k, now := o.race(), o.ctx.NowMs
	before := k.hits
	k.hits++
	if o.ctx.Mode.Is(commands.InScript) {
		return
	}
	c := k.racer(o.client.id, now, true)
	if c == nil || !c.checked {
		return
	}
	c.checked = false
	switch {
	case c.hits == before: // nobody else's
	case c.began || k.hitFirst || !o.isLimiter():
	case !o.ctx.Mode.Is(commands.Final):
		o.found(r, o.key, 1)
	case o.cmd.Name == "zadd": // in EXEC, which may yet count
		o.client.late = lateHit{
			hash: o.hash, key: append(o.client.late.key[:0], o.key...), rule: r, nowMs: now,
			by: actor{o.cmd.FullName(), false, o.client.label()},
		}
	}
}

// A lateHit is a hit of an EXEC after a check before it. It is a problem if the EXEC does
// not count after the hit, and so decides again.
type lateHit struct {
	hash  uint64 // 0: there is none
	key   []byte
	rule  *rule
	by    actor
	nowMs int64
}

// report counts the late hit of the EXEC before.
func (l *lateHit) report(d *Doctor) {
	d.findings.add(l.rule, l.key, l.by, 1, l.nowMs)
	l.hash = 0
}

// noteCheck remembers that the call's client has read the key.
func (o *call) noteCheck() {
	if o.ctx.Mode.Is(commands.InScript) {
		return
	}
	if o.client.late.hash == o.hash {
		o.client.late.hash = 0
	}
	k := o.race()
	c := k.racer(o.client.id, o.ctx.NowMs, false)
	if c == nil {
		return
	}
	if c.began {
		k.hitFirst = true
	}
	c.checked, c.hits = true, k.hits
}

// isLimiter reports whether the key is a limiter's: it has a deadline or a window.
func (o *call) isLimiter() bool {
	if w := o.shard.window(o.hash); w != nil && w.windowMs > 0 {
		return true
	}
	n := o.ctx.DB.View(o.key, o.ctx.NowMs)
	if n == nil {
		return false
	}
	_, expires := n.Value.ExpireAtMs()
	return expires
}
