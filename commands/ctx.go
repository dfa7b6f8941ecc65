package commands

import (
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Ctx is what a handler gets: its arguments, an instant, the keyspace, and scratch
// space for its reply. A handler runs with the shards of its keys locked and keeps
// nothing of Ctx after it returns. It copies arguments that it stores, as the store's
// setters do.
type Ctx struct {
	Args  [][]byte // Args[0] is the name as the client spelled it
	Cmd   *Command // the row that runs; of a subcommand, its own
	NowMs int64    // one reading per command, script or EXEC, in unix milliseconds
	NowUs int64    // the same instant in microseconds
	Proto int      // of the client: resp.RESP2 or resp.RESP3

	Store   *store.Store
	DB      *store.DB // the selected database
	DBIndex int       // its number; SELECT changes only this

	Settings *Settings

	// MayWait says that the command may set Waiting instead of returning a reply. See
	// Wait.
	MayWait bool
	Waiting *Wait

	// InScript says that a script or a function runs the command.
	InScript bool

	// OutOfMemory says that memory was exhausted when the command was admitted: a script
	// may not begin to write with commands that have the flag DenyOOM.
	OutOfMemory bool

	// Replayed says that the command was carried out elsewhere or before, so that nothing
	// refuses it here.
	Replayed bool

	// Out is what the reply may take; see Builder.
	Out Output

	// MayStream says that the reply may be made while it is sent, because it goes to a
	// client unchanged.
	MayStream bool

	// Unheld are the shards that are not locked. Scripts check it; the keys of other
	// commands are known before they run.
	Unheld store.ShardSet

	// MayRetry says that the command, if it has changed nothing, may set Retry instead of
	// returning a reply. It is then run again with every shard locked.
	MayRetry, Retry bool

	// Final says that the command is not run again if a prefix is full: it is one of
	// EXEC's, or it has been run again already. Otherwise Full is set to that prefix, and
	// Retry. See rl_prefix.go.
	Final bool
	Full  *store.Prefix

	// Follows says that the command is one of EXEC's, and not the first.
	Follows bool

	// Cut is set by a script that was killed because the process ends. Nothing is kept
	// of the command that has run it, which may be EXEC.
	Cut Cut

	Found any // set by Command.Locks, for the handler

	// Stepper locks shards for commands with the flag Stepwise. See Step.
	Stepper Stepper

	// Group records the effects of commands; nil: they are not recorded. See effects.go.
	Group *effects.Group

	// AfterRead, if not nil, is called with each command that has the flag ReadOnly,
	// after it has run.
	AfterRead func(cmd *Command, args [][]byte)

	// Guard decides what scripts may call, and what else a call may reach; nil: everything.
	Guard Guard

	// Monitor receives each command that runs; nil: there is no monitor. See monitor.go.
	Monitor Monitor

	// Observer sees each command after it has run; nil: there is none. See monitor.go.
	Observer Observer

	// Redacted has a bit for each argument that is hidden, see Redact; the last one is also
	// that of the arguments behind it.
	Redacted uint64

	// Tracer records decisions about single keys; nil: none is traced.
	Tracer Tracer

	// Sampler counts decisions by key, if Settings.TopSampling is not 0.
	Sampler *TopSampler

	Tally  Tally      // counts that are not in the statistics yet
	Errors ErrorCount // says whether the errors of the reply are counted

	// Caller is the session that runs the command, for the groups of other packages.
	// Handlers of this package do not use it.
	Caller any

	values  []resp.Value
	bytes   []byte
	buckets []int64
	keys    [][]byte
	dumper  *rdb.Dumper // created when it is first needed
	call    *allowCall  // likewise; the call of RL.ALLOW under way
}

// Cut says whether a script was killed because the process ends.
type Cut uint8

// The values of Cut.
const (
	CutNone  Cut = iota
	CutClean     // it had changed nothing
	CutHalf      // it had called commands that write
)

// Settings are the present values of the directives that handlers use.
type Settings struct {
	ProtoMaxBulkLen      int64 // bytes
	HashMaxListpackCount int64 // fields up to which OBJECT ENCODING says listpack
	HashMaxListpackValue int64 // bytes a field or value may have there
	SetMaxIntsetCount    int64 // members up to which a set of integers is an intset
	ZSetMaxListpackCount int64 // entries up to which OBJECT ENCODING says listpack
	ZSetMaxListpackValue int64 // bytes a member may have there
	RLLogMaxUnits        int64 // the largest limit that RL.ALLOW accepts
	RDBCompression       bool  // DUMP compresses
	LimiterAware         bool  // maxmemory-policy is limiter-aware
	EvictsByUse          bool  // there is a maxmemory, and an LRU or LFU policy

	// TopSampling is rl-top-sampling: one in so many decisions is counted by Ctx.Top; 0: none
	// is.
	TopSampling uint32

	StatsPrefixes PrefixIndex // of rl-stats-prefix; nil: there are none
}

// Use selects the database for the next command. If the command uses keys, a shard must
// be locked, because SWAPDB changes which database has a number.
func (c *Ctx) Use(index int) { c.DBIndex, c.DB = index, c.Store.DB(index) }

// Run runs the handler of c.Cmd. Sessions, EXEC and scripts all call it, so what
// surrounds every handler is in one place.
func (c *Ctx) Run() resp.Value {
	if c.Observer != nil {
		return c.runObserved()
	}
	return c.runUnobserved()
}

func (c *Ctx) runUnobserved() resp.Value {
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

// runRead is Run for a command after which AfterRead is called.
func (c *Ctx) runRead() (reply resp.Value) {
	cmd, args := c.Cmd, c.Args // a script changes them
	if c.Group != nil {
		reply = c.runRecorded()
	} else {
		reply = cmd.Handler(c)
	}
	c.AfterRead(cmd, args)
	return reply
}

// Reset frees the scratch space, which invalidates the replies in it. The space of a
// huge reply is released.
func (c *Ctx) Reset() {
	const keep = 64 << 10
	c.values, c.bytes = c.values[:0], c.bytes[:0]
	c.Out.Reset()
	if cap(c.values) > keep/64 {
		c.values = nil
	}
	if cap(c.bytes) > keep {
		c.bytes = nil
		clear(c.values[:cap(c.values)]) // they point to it
	}
}

// Values returns an empty slice with capacity for n values in the scratch space.
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

// Copy returns a bulk string with a copy of b in the scratch space: a reply must not
// alias what the store may change.
func (c *Ctx) Copy(b []byte) resp.Value {
	used := len(c.bytes)
	if cap(c.bytes)-used < len(b) {
		if long, ok := c.copyLong(b); ok {
			return long
		}
		c.bytes = make([]byte, 0, max(512, 2*cap(c.bytes), len(b)))
		used = 0
	}
	c.bytes = append(c.bytes, b...)
	return resp.BulkBytes(c.bytes[used : used+len(b) : used+len(b)])
}

// copyLong is Copy for a text that is to be encoded at once, or is more than the reply may take.
func (c *Ctx) copyLong(b []byte) (resp.Value, bool) {
	switch {
	case len(b) < resp.BlockSize:
		return resp.None, false
	case !c.Out.grow(len(b)):
		return resp.None, true
	case !c.Out.Encodes:
		return resp.None, false
	}
	encoded, text := &resp.Blocks{}, resp.BulkBytes(b)
	encoded.Append(&text, c.Proto)
	return resp.Streamed(encoded), true
}

// own is Copy for bytes that become part of the scratch space themselves.
func (c *Ctx) own(b []byte) resp.Value {
	c.bytes = b
	return resp.BulkBytes(b)
}

// counts returns an empty slice with capacity for n numbers. There is one at a time.
func (c *Ctx) counts(n int) []int64 {
	if cap(c.buckets) < n {
		c.buckets = make([]int64, 0, n)
	}
	return c.buckets[:0:n]
}
