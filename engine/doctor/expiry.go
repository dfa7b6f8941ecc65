package doctor

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A dated key is a counter as far as the doctor has seen its deadlines.
type dated struct {
	hash       uint64
	sinceMs    int64 // when it was created, or first seen
	deadlineMs int64 // the last one that was set; 0: none was seen
	hit        touch // the last that was not followed by EXPIRE
	renewed    int   // how often in a row a hit has put the deadline off
}

// dated returns what is remembered of the call's key, or nil.
func (o *call) dated() *dated {
	if c := &o.shard.dated[o.hash%uint64(len(o.shard.dated))]; c.hash == o.hash {
		return c
	}
	return nil
}

// datedExpiry returns dated and expiry, or nil if either has nothing.
func (o *call) datedExpiry() (*dated, expiry) {
	c := o.dated()
	if c == nil {
		return nil, expiry{}
	}
	e, ok := o.expiry()
	if !ok {
		return nil, expiry{}
	}
	return c, e
}

// noteDated remembers that the call has changed a counter.
func (o *call) noteDated(created bool) *dated {
	c := &o.shard.dated[o.hash%uint64(len(o.shard.dated))]
	if c.hash != o.hash || created {
		*c = dated{hash: o.hash, sinceMs: o.ctx.NowMs}
	}
	return c
}

// An expiry is what a command says of a key's deadline.
type expiry struct {
	number   []byte
	unitMs   int64
	absolute bool
	ttlMs    int64 // from now on
}

// expiry returns what the call has said of its key's deadline. It reports false if that is
// nothing, or if the call has set none.
func (o *call) expiry() (e expiry, ok bool) {
	at := 2
	switch o.cmd.Name {
	case "expire", "expireat", "pexpire", "pexpireat":
		ok = o.reply.Int() == 1
		e.absolute = len(o.cmd.Name) > len("pexpire")
	case "setex", "psetex":
		ok = !o.reply.IsError()
	case "set":
		if at = expiryOption(o.args); at == 0 || o.reply.IsError() || o.reply == resp.Null {
			return e, false
		}
		ok, e.absolute = true, len(o.args[at-1]) == len("pxat")
	}
	if !ok {
		return e, false
	}
	e.number, e.unitMs = o.args[at], 1000
	if o.cmd.Name[0] == 'p' || at > 2 && o.args[at-1][0]|0x20 == 'p' {
		e.unitMs = 1
	}
	n, ok := store.ParseInt(e.number)
	if !ok || n > maxNumber {
		return e, false
	}
	e.ttlMs = n * e.unitMs
	if e.absolute {
		e.ttlMs -= o.ctx.NowMs
	}
	return e, true
}

// maxNumber is the largest number from which a deadline is computed.
const maxNumber = 1 << 50

// expiryOption returns where the number of SET's EX, PX, EXAT or PXAT is; 0: there is none.
func expiryOption(args [][]byte) int {
	for i := 3; i < len(args)-1; i++ {
		word := args[i]
		if len(word) != 2 && len(word) != 4 || word[1]|0x20 != 'x' {
			continue
		}
		if ch := word[0] | 0x20; ch == 'e' || ch == 'p' {
			return i + 1
		}
	}
	return 0
}

// setsInteger reports whether the call has set its key to an integer, as counters are.
func (o *call) setsInteger() (n int64, ok bool) {
	at := 2
	switch {
	case o.reply.IsError() || o.reply == resp.Null && o.cmd.Name == "set":
		return 0, false
	case o.cmd.Name == "setex", o.cmd.Name == "psetex":
		at = 3
	}
	return store.ParseInt(o.args[at])
}

// renewals is how often in a row hits put off the deadline of a counter that is older than
// its time to live, and longestMs the longest such time: counters that live longer are for
// statistics, and expire so that they do not stay for ever.
const renewals, longestMs = 10, 3600 * 1000

// renewedExpiry finds counters whose deadline is put off by each hit, so that their window
// has no end.
func renewedExpiry(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	now := o.ctx.NowMs
	switch o.cmd.Name {
	case "incr", "incrby", "decr", "decrby":
		o.noteDated(o.creates()).hit = touch{o.client.id, now}
		return
	case "set", "setex", "psetex":
		if _, ok := o.setsInteger(); !ok {
			return
		}
		if e, ok := o.expiry(); ok {
			o.noteDated(true).deadlineMs = now + e.ttlMs
		}
		return
	}
	c, e := o.datedExpiry()
	if c == nil {
		return
	}
	before := c.deadlineMs
	c.deadlineMs = now + e.ttlMs
	hit := c.hit.by(o.client.id, now)
	c.hit = touch{}
	switch {
	case before == 0 || !hit:
		return
	case c.deadlineMs <= before:
		if c.deadlineMs < before || now != c.sinceMs {
			c.renewed = 0
		}
		return
	}
	if c.renewed++; c.renewed >= renewals && e.ttlMs <= longestMs && now-c.sinceMs > e.ttlMs {
		o.found(r, o.key, 1)
	}
}

// expiryUnit finds deadlines in the wrong unit: seconds for milliseconds or the reverse, or
// a time to live where an instant belongs. What is right says the window of the key's hits,
// the length of the slice of time in its name, or the lifetime of others of its pattern.
func expiryUnit(r *rule, o *call) {
	e, ok := o.expiry()
	if !ok {
		return
	}
	if o.mistakenInstant(&e) {
		o.found(r, o.key, 1)
		return
	}
	if w := o.shard.window(o.hash); w != nil && w.source == byClient {
		if thousandTimes(e.ttlMs, w.windowMs) {
			o.found(r, o.key, 1)
		}
		return
	}
	c := o.dated()
	if c == nil || c.deadlineMs == 0 {
		return // no counter
	}
	if length := wrongSlice(o.key, o.ctx.NowMs, e.ttlMs); length != 0 {
		o.found(r, o.key, 1)
	} else if !e.absolute && o.client.memory.lifetimes.strange(o.pattern(uint8(store.TypeString)), e.ttlMs) {
		o.found(r, o.key, 1)
	}
}

// mistakenInstant reports whether a time to live is an instant, or an instant in another
// unit than the command's.
func (o *call) mistakenInstant(e *expiry) bool {
	const tenYearsMs = 10 * plausibleMs
	now := o.ctx.NowMs
	at, ok := parseInstant(e.number, now)
	if e.absolute && e.unitMs == 1 {
		return ok && at.seconds && e.ttlMs < -tenYearsMs
	}
	return ok && e.ttlMs > tenYearsMs
}

// thousandTimes reports whether a time to live is a thousand times a length, or a
// thousandth, or twice that, since many keep a window twice as long.
func thousandTimes(ttlMs, lengthMs int64) bool {
	for _, twice := range [...]int64{1, 2} {
		length := twice * lengthMs
		for _, pair := range [...][2]int64{{ttlMs, length * 1000}, {ttlMs * 1000, length}} {
			if off := pair[0] - pair[1]; off*200 <= pair[1] && -off*200 <= pair[1] {
				return true
			}
		}
	}
	return false
}

// sliceSkew finds clients whose clock names the wrong slice of time: the key of a counter
// has the number or the start of a slice that is not the present one.
func sliceSkew(r *rule, o *call) {
	c, e := o.datedExpiry()
	if c == nil {
		return
	}
	cl := o.client
	switch sliceOf(o.key, o.ctx.NowMs, e.ttlMs) {
	case noSlice:
	case presentSlice:
		cl.clock.slices = 0
	case otherSlice:
		if cl.clock.otherSlice(o.hash) {
			o.foundAfter(r, o.key, skewedHits, cl.clock.slices)
		}
	}
}
