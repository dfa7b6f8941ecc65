package doctor

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// An order says whether a limiter counts the hits of a key before it adds one, or after.
type order uint8

const (
	orderUnknown order = iota
	checkFirst
	hitFirst
)

// uses are the calls that add hits to a key, or count them.
type uses struct {
	lastMs int64  // when the last one was
	script uint64 // whose it was; 0: no script's
	order  order
}

// note notes a call of a script, or of none if that is 0. The first one of a script, or after a pause, tells
// the order.
func (u *uses) note(script uint64, nowMs int64, adds bool) {
	pause := u.lastMs != 0 && nowMs-u.lastMs > decideMs
	if script != 0 && script != u.script || script == 0 && pause {
		u.order = checkFirst
		if adds {
			u.order = hitFirst
		}
	}
	u.lastMs, u.script = nowMs, script
}

// noteOrder remembers of a call that adds a hit or counts the hits whether it is the first
// one: of its script, or after a pause. It returns what is remembered of the key, or nil if
// the call is neither.
func (o *call) noteOrder() *window {
	adds := o.cmd.Name == "zadd"
	if o.reply.IsError() || adds && !o.zaddHit().timed {
		return nil
	}
	w, now, script := o.window(), o.ctx.NowMs, uint64(0)
	if o.ctx.Mode.Is(commands.InScript) {
		script = uint64(o.client.id)<<32 | uint64(o.client.begun)
	}
	w.uses.note(script, now, adds)
	if adds && o.zaddHit().added > 0 {
		w.last = touch{o.client.id, now}
	}
	return w
}

// constantHits is how many hits in a row have one and the same member.
const constantHits = 10

// constantMember finds limiters that add the same member again and again: the set has one
// hit at most, and no limit is ever reached. Sets of who is present get the same commands,
// but have several members, or are counted after the member was added, or do not expire.
func constantMember(r *rule, o *call) {
	w := o.noteOrder()
	switch {
	case w == nil:
		return
	case o.cmd.Name != "zadd":
		w.count = touch{o.client.id, o.ctx.NowMs}
		return
	}
	switch h := o.zaddHit(); {
	case h.added > 0:
		w.repeats = 0
		return
	case h.same > 0, w.uses.order != checkFirst, !w.count.by(o.client.id, o.ctx.NowMs):
		return
	}
	w.repeats = min(w.repeats+1, constantHits+1)
	if w.repeats < constantHits || o.zsetLen() != 1 || !o.expires() {
		return
	}
	o.foundAfter(r, o.key, constantHits, int64(w.repeats))
}

// zsetLen returns how many members the call's sorted set has.
func (o *call) zsetLen() int {
	if n := o.ctx.DB.View(o.key, o.ctx.NowMs); n != nil {
		if set := store.ZSetOf(n); set != nil {
			return set.Len()
		}
	}
	return 0
}

// expires reports whether the call's key has a deadline.
func (o *call) expires() bool { return deadlineOf(o.ctx.DB, o.key, o.ctx.NowMs) == hasDeadline }

// hitsCounted is how many hits a limiter that adds first has counted at least. Smaller
// limits may never have been reached, and a limiter that takes the hits of denied calls back
// does so only then.
const hitsCounted = 32

// countsDenied finds limiters that add a hit before they count, and take none back: each
// denied call is counted, and a caller that goes on is denied for ever. Sets that expire and
// that are trimmed, added to and counted by one client are limiters.
func countsDenied(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	switch o.cmd.Name {
	case "zcard", "zcount":
	default: // a hit is taken back
		if o.reply.Int() > 0 {
			o.client.memory.patterns.add(o.pattern(takenBack), true)
		}
		return
	}
	if o.reply.Int() < hitsCounted {
		return
	}
	w := o.window()
	if w.uses.order != hitFirst || w.source != byClient || !w.last.by(o.client.id, o.ctx.NowMs) ||
		!o.expires() {
		return
	}
	w.last = touch{} // a hit is found once
	if back, _ := o.client.memory.patterns.counts(o.pattern(takenBack)); back == 0 {
		o.found(r, o.key, 1)
	}
}
