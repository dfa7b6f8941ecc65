package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Flags are a command's properties, named as COMMAND INFO names them.
type Flags uint32

// The flags of Redis 7.0 that our commands carry, in the order in which
// COMMAND INFO lists them, and below them our own, which it does not list.
const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Module
	Admin
	PubSub
	NoScript
	Blocking
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Asking
	Fast
	NoAuth
	NoMandatoryKeys
	NoAsyncLoading
	NoMulti
	MovableKeys
	AllowBusy

	MayReplicate // not for scripts that may only read; Redis 7.0 does not list it either

	AllShards // the handler walks keys it does not name: it needs every lock
	// alone the command locks one shard after the other by itself; in EXEC and scripts AllShards holds
	Stepwise
	Random      // two equal calls may answer differently
	Transaction // needs the shards of what the session has queued and watched
	Protected   // only where enable-debug-command lets it
	Immediate   // runs at once where MULTI would queue it
	Subscribed  // runs on a subscribed connection under RESP2 too
	RunsQueue   // runs what MULTI has queued: what holds for one of those commands holds for it
	NeedsDisk   // refused while commands that write are, because the disk fails, although it writes nothing
)

// A KeySpec says where in the arguments keys stand and what is done to them.
// Positions count from the command's name, which is 0. Make one with key, keys
// or countedKeys.
type KeySpec struct {
	Flags string // what is done to the keys, as COMMAND INFO names it: "RW access update"; or NotKey
	Notes string

	First int // the first key, or where KeyNum the count that precedes the keys
	Last  int // relative to the first key; negative counts from the last argument
	Step  int
	// KeyNum: the argument at First says how many keys follow it.
	KeyNum bool
	// Find: an option decides where the key stands. It returns the position, 0
	// where there is none; First, Last and Step then mean nothing.
	Find func(args [][]byte) (at int)
	// Tail: the key stands nowhere. Its name is the argument at First, Infix,
	// and what Tail reads from the arguments; where that is nil there is none.
	Tail  func(args [][]byte) []byte
	Infix string
}

// NotKey is a KeySpec's Flags where what stands there only looks like a key:
// shard channels, which a cluster finds as it finds keys.
const NotKey = "not_key"

// key is one key at a fixed position.
func key(at int, flags string) KeySpec { return KeySpec{Flags: flags, First: at, Step: 1} }

// keys are the first argument and every step-th after it, to the last.
func keys(step int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: 1, Last: -1, Step: step}
}

// keysFrom are the arguments from first to the last.
func keysFrom(first int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: first, Last: -1, Step: 1}
}

// CountedKeys are those that follow a count.
func CountedKeys(countAt int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: countAt, Step: 1, KeyNum: true}
}

// countedKeysEvery are those that follow a count as the first argument, each
// with more arguments behind it.
func countedKeysEvery(step int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: 1, Step: step, KeyNum: true}
}

// A Handler runs a command whose arity was checked and whose shards are
// locked, and returns its one reply.
type Handler func(c *Ctx) resp.Value

// A Command is everything that is known about a command. COMMAND and COMMAND
// DOCS, arity checks, queueing in MULTI, script rules, shard locking, INFO
// commandstats and docs/commands.md all read it; no rule about a command
// stands elsewhere.
type Command struct {
	Name       string // lower case; a subcommand's own name without its parent's
	Arity      int    // with the name; -n means at least n
	Flags      Flags
	Keys       []KeySpec
	Categories []string // ACL categories without '@'; those that follow from flags included
	Tips       []string
	Group      string // as in COMMAND DOCS: "string", "sorted-set", ...
	Since      string // the Redis (or zlimit) version that introduced it
	Complexity string
	Summary    string // one sentence, ours
	Syntax     string // arguments after the name, in the notation of Redis' manual
	Deviation  string // where the answer differs from Redis 7.0; "" where it does not
	Handler    Handler
	Subs       []Command

	// Event is what keyspace notifications call what a writing command changes; ""
	// where it has no one word for that. See events.go.
	Event string

	// Reads tells of a call of a writing command, whose number of arguments the
	// arity allows, that it can change nothing; nil: every one can.
	Reads func(args [][]byte) bool

	// Reaches tells of a call, whose number of arguments the arity allows, that it
	// may look at keys that it does not name: it needs every lock; nil: none does.
	Reaches func(args [][]byte) bool

	// Locks says which shards a call needs, where that depends on more than
	// its keys: a script's on what it calls. It may leave what it found in
	// c.Found. With c nil EXEC asks, about a call that it will make later; then
	// Locks changes nothing.
	Locks func(c *Ctx, args [][]byte) store.ShardSet

	// Declares tells of a call whether a script that it names says of itself that
	// it writes, or that it does not; ok is false where nothing is said. Nil: never.
	Declares func(args [][]byte) (writes, ok bool)

	parent *Command
	id     int
	event  effects.Event
}

// FullName is the name by which errors, COMMAND LIST and statistics call the
// command: "get", "config|get".
func (c *Command) FullName() string {
	if c.parent != nil {
		return c.parent.Name + "|" + c.Name
	}
	return c.Name
}

// ID numbers a table's commands and subcommands from 0 without gaps.
func (c *Command) ID() int { return c.id }

// Is reports whether the command carries every one of the flags.
func (c *Command) Is(f Flags) bool { return c.Flags&f == f }

// Writes reports whether a call may change the keyspace.
func (c *Command) Writes(args [][]byte) bool {
	return c.Flags&Write != 0 && (c.Reads == nil || !c.Reads(args))
}

// Replicates reports whether Redis takes a call for one that may write or be
// sent to replicas: what CLIENT PAUSE WRITE holds, and no MONITOR may do.
func (c *Command) Replicates(args [][]byte) bool {
	if c.Declares != nil {
		if writes, ok := c.Declares(args); ok {
			return writes
		}
	}
	return c.Flags&(Write|MayReplicate) != 0
}

// ArityOK reports whether n arguments, the name included, are acceptable.
func (c *Command) ArityOK(n int) bool {
	if c.Arity < 0 {
		return n >= -c.Arity
	}
	return n == c.Arity
}
