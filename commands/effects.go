package commands

import "github.com/zlimit/zlimit/resp"

// What a command does to the keyspace is recorded in Ctx.Group, in the words in
// which redis-server's append-only file has it. A handler whose arguments are
// facts, the same whenever and by whomever they are read, need not care: where
// it has changed a key its call is recorded as it was sent. One that counts
// from now, draws lots or computes says itself what came of it.

// runRecorded is Run where what is done is recorded. A handler that panics has
// done something, too.
func (c *Ctx) runRecorded() resp.Value {
	g, db, args := c.Group, c.DBIndex, c.Args
	mark := g.Enter()
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
