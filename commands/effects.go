package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// What a command does to the keyspace is recorded in Ctx.Group, in the words in
// which redis-server's append-only file has it. A handler whose arguments are
// facts, the same whenever and by whomever they are read, need not care: where
// it has changed a key its call is recorded as it was sent. One that counts
// from now, draws lots or computes says itself what came of it.

// runRecorded is Run where what is done is recorded. A handler that panics has
// done something, too.
func (c *Ctx) runRecorded() resp.Value {
	g, db, args := c.Group, c.DBIndex, c.Args
	mark := g.Enter(c.Cmd.event)
	defer func() { g.Leave(mark, db, args) }()
	return c.Cmd.Handler(c)
}

// Changed says that a command has changed something that is no key: the call
// is recorded as it was sent.
func (c *Ctx) Changed() {
	if c.Group != nil {
		c.Group.Changed()
	}
}

// did begins a command of n words that stands for what was done, the name and
// the key among them; nil where nothing is recorded.
func (c *Ctx) did(n int, name string, key []byte) *effects.Group {
	g := c.Group
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

// didCall is did for a command that needs no more than its words.
func (c *Ctx) didCall(name string, key []byte, more ...[]byte) {
	if g := c.did(2+len(more), name, key); g != nil {
		for _, word := range more {
			g.Bytes(word)
		}
	}
}

// didExpire records a deadline.
func (c *Ctx) didExpire(key []byte, atMs int64, more ...[]byte) {
	if g := c.did(3+len(more), "PEXPIREAT", key); g != nil {
		g.Int(atMs)
		for _, word := range more {
			g.Bytes(word)
		}
	}
}

// didSet records a string with its deadline, 0 for none.
func (c *Ctx) didSet(key, text []byte, atMs int64) {
	if atMs == 0 {
		c.didCall("SET", key, text)
		return
	}
	if g := c.did(5, "SET", key); g != nil {
		g.Bytes(text)
		g.Text("PXAT")
		g.Int(atMs)
		g.Note(c.DB.ID(), eventExpire, key)
	}
}

var keepTTL = []byte("KEEPTTL")

// didCallWithout records the call without the options of one name.
func (c *Ctx) didCallWithout(option string, from int) {
	g := c.Group
	if g == nil {
		return
	}
	n := 0
	for i, arg := range c.Args {
		if i < from || !EqualFold(arg, option) {
			n++
		}
	}
	g.Begin(c.DB.ID(), n)
	for i, arg := range c.Args {
		if i < from || !EqualFold(arg, option) {
			g.Bytes(arg)
		}
	}
}

// didPopAt records that an end of a node's collection was taken.
func (c *Ctx) didPopAt(n *store.Node, name string) {
	if g := c.Group; g != nil {
		g.Begin(c.DB.ID(), 2)
		g.Text(name)
		g.Text(n.Key())
	}
}

// didNothing says that reading the call would change nothing.
func (c *Ctx) didNothing() {
	if c.Group != nil {
		c.Group.MarkAccounted()
	}
}

// didValue adds a member as it was answered.
func didValue(g *effects.Group, v *resp.Value) {
	if v.Kind() == resp.KindBulkInt {
		g.Int(v.Int())
	} else {
		g.Text(v.Str())
	}
}
