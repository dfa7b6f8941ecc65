package doctor

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// lostUpdate finds clients that get a counter and set it to the next integer, while another
// client has changed it in between: that one's change is lost. It follows checkThenAdd,
// which counts hits.
func lostUpdate(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	if o.cmd.Name == "get" {
		o.noteValue()
		return
	}
	value, ok := o.setsInteger()
	if !ok {
		return
	}
	k := o.race()
	before := k.hits + k.sets
	k.sets++
	if o.ctx.Mode.Is(commands.InScript) {
		return
	}
	c := k.known(o.client.id, o.ctx.NowMs)
	if c == nil || !c.hasValue {
		return
	}
	c.hasValue = false
	if c.changes != before && (value == c.value+1 || value == c.value-1) {
		o.found(r, o.key, 1)
	}
}

// noteValue remembers the integer that the call's client has got.
func (o *call) noteValue() {
	if o.ctx.Mode.Is(commands.InScript) {
		return
	}
	n := o.reply.Int()
	if o.reply.Kind() != resp.KindBulkInt {
		var room [24]byte
		text, ok := o.reply.Str(), false
		if len(text) > len(room) {
			return
		}
		if n, ok = store.ParseInt(append(room[:0], text...)); !ok {
			return
		}
	}
	k := o.race()
	if c := k.racer(o.client.id, o.ctx.NowMs, false); c != nil {
		c.hasValue, c.value, c.changes = true, n, k.hits+k.sets
	}
}

// known returns a client's part, or nil.
func (k *race) known(client, nowMs int64) *racer {
	for i := range k.clients {
		if c := &k.clients[i]; c.client == client && nowMs-c.usedMs <= decideMs {
			return c
		}
	}
	return nil
}
