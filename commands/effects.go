package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// The effects of a command are recorded in Ctx.Group, as the commands that
// redis-server's append-only file would have. If a handler does not record any and has
// changed a key, its call is recorded as it was sent. So only handlers whose effects
// depend on the time, on chance or on more than their arguments record them.

// runRecorded is Run with recording. The effects of a handler that panics are recorded,
// too.
func (c *Ctx) runRecorded() resp.Value {
	g, db, args := c.Group(), c.DBIndex, c.Cmd.ownCall(c.Args)
	mark := g.Enter(c.Cmd.event)
	defer func() { g.Leave(mark, db, args) }()
	return c.Cmd.Handler(c)
}

// Changed records the call as it was sent, for a command that has changed something
// that is no key.
func (c *Ctx) Changed() {
	if c.Group() != nil {
		c.Group().Changed()
	}
}

// Did begins an effect: a command of n words, including its name and key. It returns
// nil if nothing is recorded.
func (c *Ctx) Did(n int, name string, key []byte) *effects.Group {
	g := c.Group()
	if g != nil {
		if g.LacksEvent() {
			g.Note(c.DB.ID(), loggedEvents[name], key)
		}
		g.Begin(c.DB.ID(), n)
		g.Text(name)
		g.Bytes(key)
	}
	return g
}

// An EffectHead is a command's head, for effects that many calls have.
type EffectHead struct {
	name string
	head effects.Head
}

// NewEffectHead returns the head of a command of n words.
func NewEffectHead(n int, name string) EffectHead {
	return EffectHead{name, effects.NewHead(n, name)}
}

var loggedExpire = NewEffectHead(3, "PEXPIREAT")

// DidHead is Did for a head.
func (c *Ctx) DidHead(h *EffectHead, key []byte) *effects.Group {
	g := c.Group()
	if g != nil {
		if g.LacksEvent() {
			g.Note(c.DB.ID(), loggedEvents[h.name], key)
		}
		g.Start(c.DB.ID(), h.head, key)
	}
	return g
}

// DidCall records an effect that consists of the given words.
func (c *Ctx) DidCall(name string, key []byte, more ...[]byte) {
	if g := c.Did(2+len(more), name, key); g != nil {
		for _, word := range more {
			g.Bytes(word)
		}
	}
}

// DidExpire records a deadline.
func (c *Ctx) DidExpire(key []byte, atMs int64, more ...[]byte) {
	if len(more) == 0 {
		if g := c.DidHead(&loggedExpire, key); g != nil {
			g.Int(atMs)
		}
		return
	}
	if g := c.Did(3+len(more), "PEXPIREAT", key); g != nil {
		g.Int(atMs)
		for _, word := range more {
			g.Bytes(word)
		}
	}
}

// DidSet records a string with its deadline, 0 for none.
func (c *Ctx) DidSet(key, text []byte, atMs int64) {
	if atMs == 0 {
		c.DidCall("SET", key, text)
		return
	}
	if g := c.Did(5, "SET", key); g != nil {
		g.Bytes(text)
		g.Text("PXAT")
		g.Int(atMs)
		g.Note(c.DB.ID(), eventExpire, key)
	}
}

var keepTTL = []byte("KEEPTTL")

// DidValueAt records a string and its deadline, 0 for none. The old deadline was oldMs.
func (c *Ctx) DidValueAt(key, text []byte, atMs, oldMs int64) {
	if atMs != 0 && atMs == oldMs {
		c.DidCall("SET", key, text, keepTTL)
	} else {
		c.DidSet(key, text, atMs)
	}
}

// DidScript records a script that does to key what the command called name does.
func (c *Ctx) DidScript(name string, script, key []byte, numbers ...int64) {
	g := c.Group()
	if g == nil {
		return
	}
	if g.LacksEvent() {
		g.Note(c.DB.ID(), loggedEvents[name], key)
	}
	g.Begin(c.DB.ID(), 4+len(numbers))
	g.Text("EVAL")
	g.Bytes(script)
	g.Text("1")
	g.Bytes(key)
	for _, n := range numbers {
		g.Int(n)
	}
}

// didCallWithout records the call without the options of one name.
func (c *Ctx) didCallWithout(option string, from int) {
	g := c.Group()
	if g == nil {
		return
	}
	n, args := 0, c.Cmd.ownCall(c.Args)
	for i, arg := range args {
		if i < from || !EqualFold(arg, option) {
			n++
		}
	}
	g.Begin(c.DB.ID(), n)
	for i, arg := range args {
		if i < from || !EqualFold(arg, option) {
			g.Bytes(arg)
		}
	}
}

// didPopAt records a pop at an end of a node's collection.
func (c *Ctx) didPopAt(n *store.Node, name string) {
	if g := c.Group(); g != nil {
		g.Begin(c.DB.ID(), 2)
		g.Text(name)
		g.Text(n.Key())
	}
}

// didNothing records no effect instead of the call.
func (c *Ctx) didNothing() {
	if c.Group() != nil {
		c.Group().MarkAccounted()
	}
}

// didValue adds a member as it is in the reply.
func didValue(g *effects.Group, v *resp.Value) {
	if v.Kind() == resp.KindBulkInt {
		g.Int(v.Int())
	} else {
		g.Text(v.Str())
	}
}
