package doctor

import (
	"hash/maphash"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Client observes the commands of one session, on the session's goroutine. It implements
// commands.Observer.
type Client struct {
	doctor *Doctor
	id     int64
	label  func() string

	memory *memory // of the command, script or EXEC under way
	call   call    // reused

	clock  clientClock
	begun  uint32 // how many commands, EXECs and scripts have begun
	turns  turns
	exec   execKeys
	script scriptKeys
	texts  sentTexts
	late   lateHit
}

// A clientClock is what differs from the server's clock.
type clientClock struct {
	hits      int64  // in a row whose timestamps do
	slices    int64  // how many keys in a row are for another slice of time
	lastSlice uint64 // the last of them
}

// otherSlice notes a key for another slice of time. It reports false if that was the last one, too.
func (c *clientClock) otherSlice(hash uint64) bool {
	if c.lastSlice == hash {
		return false
	}
	c.lastSlice = hash
	c.slices++
	return true
}

// NewClient returns the observer of a session. Label returns the name by which findings
// show it.
func (d *Doctor) NewClient(id int64, label func() string) *Client {
	return &Client{doctor: d, id: id, label: label}
}

// NewOwnClient returns the observer of a session of the program that runs the engine. Limiter.Do opens
// one for each call, so the turns of an ended session go on: else every script would be looked at.
func (d *Doctor) NewOwnClient(id int64, label func() string) *Client {
	cl := d.ended.Swap(nil)
	if cl == nil {
		return d.NewClient(id, label)
	}
	*cl = Client{doctor: d, id: id, label: label, turns: cl.turns, script: scriptKeys{names: cl.script.names}}
	return cl
}

// End keeps an observer of NewOwnClient, whose session has ended, for a later session.
func (d *Doctor) End(cl *Client) {
	cl.label, cl.memory = nil, nil
	d.ended.Store(cl)
}

// Begin is called before a command, script or EXEC. It reports whether the doctor is on.
func (cl *Client) Begin() bool {
	cl.memory = cl.doctor.memory.Load()
	cl.begun++
	cl.exec = execKeys{}
	cl.script.n = 0
	if cl.late.hash != 0 {
		cl.late.report(cl.doctor)
	}
	return cl.memory != nil
}

// Ran implements commands.Observer.
func (cl *Client) Ran(c *commands.Ctx, cmd *commands.Command, args [][]byte, reply resp.Value) {
	seen, inScript := &cl.doctor.seen[cmd.ID()], c.Mode.Is(commands.InScript)
	if seen.hashed && cl.turns.skip && hasOneSlot(args, reply) && !c.Retry { // no rule would find anything
		cl.texts.noScript = false
		cl.endScript()
		return
	}
	if seen.rules == nil && !inScript || c.Retry { // what runs again is seen again
		return
	}
	o := &cl.call
	o.key = nil
	if seen.keyed {
		o.key = args[1]
		o.keyHash = maphash.Bytes(cl.doctor.seed, o.key)
		if inScript {
			cl.script.add(o.keyHash, o.key)
		}
	}
	if seen.rules == nil {
		return
	}
	o.client, o.ctx, o.cmd, o.change, o.args, o.reply = cl, c, cmd, seen.change, args, reply
	o.hit.known = false
	if seen.keyed {
		o.hash = o.keyHash + uint64(c.DBIndex)
		o.shard = &cl.memory.shards[store.ShardIndex(o.key)]
	}
	for _, r := range seen.rules {
		r.observe(r, o)
	}
	o.ctx, o.args, o.key, o.reply = nil, nil, nil, resp.Value{} // they belong to the session
}

// SkipsCalls implements commands.Observer.
func (cl *Client) SkipsCalls() bool { return cl.turns.skip }

// A call is a command that has run.
type call struct {
	client *Client
	ctx    *commands.Ctx
	cmd    *commands.Command
	change change // that cmd makes
	args   [][]byte
	reply  resp.Value

	key     []byte // nil if the command has none at the first position
	keyHash uint64 // of key
	hash    uint64 // of key and database
	shard   *shardMemory

	hit hit
}

// found counts a problem n times.
func (o *call) found(r *rule, key []byte, n int64) {
	o.client.turns = turns{}
	o.client.doctor.findings.add(r, key, o.by(), n, o.ctx.NowMs)
}

// foundAfter counts what is no problem before it is seen so many times: all of them then, and each later one.
func (o *call) foundAfter(r *rule, key []byte, times, seen int64) {
	switch {
	case seen == times:
		o.found(r, key, times)
	case seen > times:
		o.found(r, key, 1)
	}
}

// by returns who has made the call.
func (o *call) by() actor {
	return actor{o.cmd.FullName(), o.ctx.Mode.Is(commands.InScript), o.client.label()}
}

// An actor is who has a problem.
type actor struct {
	command string // the full name
	script  bool   // a script has called it
	client  string
}
