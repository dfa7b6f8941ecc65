package commands

import (
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Ctx is what a handler may know: its arguments, one instant, the keyspace,
// and scratch space for its reply. A handler runs with the shards of its keys
// locked and keeps nothing of Ctx after it returns; arguments that it stores
// it copies (the store's setters do).
type Ctx struct {
	Args  [][]byte // Args[0] is the name as the client spelled it
	Cmd   *Command // the row being run: the subcommand's where there is one
	NowMs int64    // one reading per command, script or EXEC, in unix milliseconds
	NowUs int64    // the same instant in microseconds
	Proto int      // resp.RESP2 or resp.RESP3: what the asker understands

	Store   *store.Store
	DB      *store.DB // the selected database
	DBIndex int       // its number; SELECT changes only this

	Settings *Settings

	// MayWait says that the command may leave in Waiting what it waits for,
	// instead of an answer. See Wait.
	MayWait bool
	Waiting *Wait

	// InScript says that a script or function runs the command.
	InScript bool

	// MayStream says that the reply may be a resp.Streamed: that it goes to a
	// client as it is.
	MayStream bool

	// Unheld are the shards that are not locked. Only scripts look: the keys of
	// every other command are known before it runs.
	Unheld store.ShardSet

	// MayRetry says that the command may set Retry instead of giving an answer:
	// it has changed nothing, and is to be run again with every shard locked.
	MayRetry, Retry bool

	// Follows says that the command is one of EXEC's and not the first.
	Follows bool

	// Cut is set by a script that the end of the process has interrupted: nothing of
	// the command that ran it, which may be EXEC, is kept.
	Cut Cut

	Found any // what Command.Locks found, for the handler

	// Group takes what commands do to the keyspace; nil: nobody records it. See
	// effects.go.
	Group *effects.Group

	// AfterRead is called with each command that is flagged ReadOnly, once it has
	// run; nil: nobody wants to know.
	AfterRead func(cmd *Command, args [][]byte)

	// Monitor is told what runs; nil: nobody watches. See monitor.go.
	Monitor Monitor

	Tally  Tally      // what was counted and nobody has taken yet
	Errors ErrorCount // who counts the errors of the reply

	// Caller is the session (or script) that runs the command, for the
	// groups that rooms above this one add. Handlers here never look.
	Caller any

	values  []resp.Value
	bytes   []byte
	buckets []int64
	keys    [][]byte
	dumper  *rdb.Dumper // made when it is first needed
	call    *allowCall  // likewise: the call under way of RL.ALLOW
}

// Cut says whether a script was ended before its end, because the process ends.
type Cut uint8

// How a script may have been ended.
const (
	CutNone  Cut = iota
	CutClean     // it had changed nothing
	CutHalf      // it had called commands that write
)

// Settings are the directives that handlers obey, as CONFIG SET last left them.
type Settings struct {
	ProtoMaxBulkLen      int64 // bytes
	HashMaxListpackCount int64 // fields up to which OBJECT ENCODING says listpack
	HashMaxListpackValue int64 // bytes a field or value may have there
	SetMaxIntsetCount    int64 // members up to which a set of integers is an intset
	ZSetMaxListpackCount int64 // entries up to which OBJECT ENCODING says listpack
	ZSetMaxListpackValue int64 // bytes a member may have there
	RLLogMaxUnits        int64 // the largest limit that RL.ALLOW takes
	RDBCompression       bool  // DUMP compresses
}

// Use selects the database for the next command. A shard must be held where
// the command touches keys: which database has a number changes by SWAPDB.
func (c *Ctx) Use(index int) { c.DBIndex, c.DB = index, c.Store.DB(index) }

// Run runs the handler of c.Cmd. Whoever runs a command, a session, EXEC or a
// script, does it here: what surrounds every handler stands in one place.
func (c *Ctx) Run() resp.Value {
	if c.Monitor != nil {
		return c.runMonitored()
	}
	return c.run()
}

func (c *Ctx) run() resp.Value {
	if c.Cmd.Flags&Write != 0 && c.DB != nil && c.Store.Snapshot() != nil {
		c.preserve()
	}
	if c.AfterRead != nil && c.Cmd.Flags&ReadOnly != 0 {
		return c.runRead()
	}
	if c.Group != nil {
		return c.runRecorded()
	}
	return c.Cmd.Handler(c)
}

// runRead is Run for a command that AfterRead is to be called with.
func (c *Ctx) runRead() (reply resp.Value) {
	cmd, args := c.Cmd, c.Args // a script is one, and runs others
	if c.Group != nil {
		reply = c.runRecorded()
	} else {
		reply = cmd.Handler(c)
	}
	c.AfterRead(cmd, args)
	return reply
}

// Reset makes the scratch space free again; the replies made from it end.
// Space that one huge reply needed is given back.
func (c *Ctx) Reset() {
	const keep = 64 << 10
	c.values, c.bytes = c.values[:0], c.bytes[:0]
	if cap(c.values) > keep/64 {
		c.values = nil
	}
	if cap(c.bytes) > keep {
		c.bytes = nil
		clear(c.values[:cap(c.values)]) // they point to it, and to others before it
	}
}

// Values returns an empty slice with room for n values in the scratch space.
func (c *Ctx) Values(n int) []resp.Value {
	used := len(c.values)
	if cap(c.values)-used < n {
		// Earlier replies of the same EXEC keep the old array alive.
		c.values = make([]resp.Value, 0, max(64, 2*cap(c.values), n))
		used = 0
	}
	c.values = c.values[:used+n]
	return c.values[used : used : used+n]
}

// Copy returns a bulk string with a copy of b in the scratch space: what a
// handler answers must not alias what the store may change.
func (c *Ctx) Copy(b []byte) resp.Value {
	used := len(c.bytes)
	if cap(c.bytes)-used < len(b) {
		c.bytes = make([]byte, 0, max(512, 2*cap(c.bytes), len(b)))
		used = 0
	}
	c.bytes = append(c.bytes, b...)
	return resp.BulkBytes(c.bytes[used : used+len(b) : used+len(b)])
}

// own is Copy for bytes that nobody else has: they become the scratch space.
func (c *Ctx) own(b []byte) resp.Value {
	c.bytes = b
	return resp.BulkBytes(b)
}

// counts returns an empty slice with room for n numbers. There is one at a
// time.
func (c *Ctx) counts(n int) []int64 {
	if cap(c.buckets) < n {
		c.buckets = make([]int64, 0, n)
	}
	return c.buckets[:0:n]
}
