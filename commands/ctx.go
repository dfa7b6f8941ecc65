package commands

import (
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Ctx is what a handler gets: its arguments, an instant, the keyspace, and scratch
// space for its reply. A handler runs with the shards of its keys locked and keeps
// nothing of Ctx after it returns. It copies arguments that it stores, as the store's
// setters do.
type Ctx struct {
	Scope

	Args  [][]byte // Args[0] is the name as the client spelled it
	Cmd   *Command // the row that runs; of a subcommand, its own
	Proto int      // of the client: resp.RESP2 or resp.RESP3
	Mode  Mode

	// Unheld are the shards that are not locked. Scripts check it; the keys of other
	// commands are known before they run.
	Unheld store.ShardSet

	// Out is what the reply may take; see Builder.
	Out Output

	Outcome

	scratch scratch
}

// A Scope is what the calls of a script have in common with the script's own.
type Scope struct {
	NowMs int64 // one reading per command, script or EXEC, in unix milliseconds
	NowUs int64 // the same instant in microseconds

	Store   *store.Store
	DB      *store.DB // the selected database
	DBIndex int       // its number; SELECT changes only this

	Settings *Settings
	Env      *Env // nil: there is no session
}

// Mode is a set of what holds for the command that runs.
type Mode uint8

// The elements of a Mode.
const (
	// MayWait says that the command may set Waiting instead of returning a reply. See Wait.
	MayWait Mode = 1 << iota
	// MayStream says that the reply may be made while it is sent, because it goes to a
	// client unchanged.
	MayStream
	// MayRetry says that the command, if it has changed nothing, may set Retry instead of
	// returning a reply. It is then run again with every shard locked.
	MayRetry
	// InScript says that a script or a function runs the command.
	InScript
	// OutOfMemory says that memory was exhausted when the command was admitted: a script
	// may not begin to write with commands that have the flag DenyOOM.
	OutOfMemory
	// Replayed says that the command was carried out elsewhere or before, so that nothing
	// refuses it here.
	Replayed
	// Final says that the command is not run again if a prefix is full: it is one of
	// EXEC's, or it has been run again already. Otherwise Full is set to that prefix, and
	// Retry. See rl/prefix.go.
	Final
	// Follows says that the command is one of EXEC's, and not the first.
	Follows
)

// Is reports whether m has all of modes.
func (m Mode) Is(modes Mode) bool { return m&modes == modes }

// Set adds modes to m, or removes them.
func (m *Mode) Set(modes Mode, on bool) {
	*m &^= modes
	if on {
		*m |= modes
	}
}

// An Outcome is what a handler says beside its reply.
type Outcome struct {
	Waiting *Wait         // the command waits instead, see MayWait; when it is called again, its wait
	Full    *store.Prefix // why it is to be run again, see Final
	Retry   bool          // it is to be run again, see MayRetry
	Errors  ErrorCount    // whether the errors of the reply are counted

	// Cut is set by a script that was killed because the process ends. Nothing is kept
	// of the command that has run it, which may be EXEC.
	Cut Cut

	// Redacted has a bit for each argument that is hidden, see Redact; the last one is also
	// that of the arguments behind it.
	Redacted uint64
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
	RLLogMaxUnits        int64 // most entries of a log to which RL commands add
	RLMaxWaiting         int64 // most calls that wait for room in a key
	RDBCompression       bool  // DUMP compresses
	LimiterAware         bool  // maxmemory-policy is limiter-aware
	EvictsByUse          bool  // there is a maxmemory, and an LRU or LFU policy
	Cluster              bool  // cluster-enabled: the server is a node of a cluster

	// TopSampling is rl-top-sampling: one in so many decisions is counted for RL.TOP; 0: none
	// is.
	TopSampling uint32

	StatsPrefixes PrefixIndex // of rl-stats-prefix; nil: there are none

	// Policies are those of rl-policies; nil: there are none. They make the arguments of a command with the
	// flag ByPolicy those that its row is about, before anything else looks at them.
	Policies *policy.Set
}

// A PrefixIndex finds the prefix of rl-stats-prefix under which a key's decisions are
// counted.
type PrefixIndex interface {
	// Len returns the number of prefixes.
	Len() int
	// Find returns the number of the longest prefix that key begins with, or -1.
	Find(key []byte) int
}

// Standing returns the arguments of a call that cmd's row is about: with the flag ByPolicy those that the
// policies make of them.
func (c *Ctx) Standing(cmd *Command, call [][]byte) [][]byte {
	if !cmd.Is(ByPolicy) {
		return call
	}
	return c.Settings.Policies.Rewrite(new(policy.Matcher), call)
}

// Use selects the database for the next command. If the command uses keys, a shard must
// be locked, because SWAPDB changes which database has a number.
func (c *Ctx) Use(index int) { c.DBIndex, c.DB = index, c.Store.DB(index) }

// Nest makes c the context of the calls that a script of parent makes; nil ends them.
func (c *Ctx) Nest(parent *Ctx) {
	c.Reset()
	*c = Ctx{Out: c.Out, scratch: c.scratch}
	if parent != nil {
		c.Scope, c.Proto, c.Mode = parent.Scope, resp.RESP2, InScript
	}
}

// Call prepares c for a command, which Run then runs. Nothing is left of the outcome of the one before.
func (c *Ctx) Call(cmd *Command, args [][]byte) {
	c.Cmd, c.Args = cmd, args
	c.Outcome = Outcome{}
}

// Remember keeps what Command.Locks has found for the handler, until Reset.
func (c *Ctx) Remember(found any) { c.scratch.found = found }

// Remembered returns what Remember keeps.
func (c *Ctx) Remembered() any { return c.scratch.found }
