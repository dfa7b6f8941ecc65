package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// Flags are a command's properties, named as COMMAND INFO names them.
type Flags uint64

// The flags of Redis 7.0 in the order in which COMMAND INFO lists them, and then our
// own, which it does not list.
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

	AllShards   // needs every shard: the handler visits keys that it does not name
	Stepwise    // with AllShards: outside of EXEC and scripts the handler locks one shard at a time by itself
	Random      // two equal calls may have different replies
	Transaction // needs the shards of the session's queued commands and watched keys
	Protected   // needs enable-debug-command
	Immediate   // runs in MULTI instead of being queued
	Subscribed  // runs on a subscribed connection, under RESP2 too
	RunsQueue   // runs the commands that MULTI has queued
	EndsMulti   // is admitted in MULTI even if memory is exhausted: it ends the queue
	LogsIn      // may compare a password
	NeedsDisk   // is refused, like writes, while the disk fails, although it writes nothing
	WaitsRoom   // may wait for room in its keys, see RoomWait
	ByPolicy    // its arguments name what a policy has keys for, see Ctx.Settings
)

// A KeySpec says which arguments are keys and what is done to them. The command's name
// is argument 0. Make one with key, keys or countedKeys.
type KeySpec struct {
	Flags string // what is done to the keys, as COMMAND INFO names it: "RW access update"; or NotKey
	Notes string
	// FlagsIn, if not nil, returns the flags of one call. Flags then has variable_flags.
	FlagsIn func(args [][]byte) string

	First int // the first key, or with KeyNum the count that precedes the keys
	Last  int // relative to the first key; negative counts from the last argument
	Step  int
	// KeyNum says that the argument at First is the number of keys that follow it.
	KeyNum bool
	// StepIn, if not nil, returns the step of one call in the place of Step.
	StepIn func(args [][]byte) int
	// Find, if not nil, returns the position of a key that an option names, or 0. First,
	// Last and Step are then unused.
	Find func(args [][]byte) (at int)
	// Derive, if not nil, is for a key that is no argument: it returns the parts of its name, of
	// which the first is nil if the call has no such key.
	Derive func(args [][]byte) NameParts
	// Unslotted says that the key may be in another hash slot than the others.
	Unslotted bool
}

// NameParts are the parts of a key's name.
type NameParts [5][]byte

// Append appends the name to b.
func (p *NameParts) Append(b []byte) []byte {
	for _, part := range p {
		b = append(b, part...)
	}
	return b
}

// NotKey is the Flags of shard channels, which a cluster finds as it finds keys.
const NotKey = "not_key"

// key returns the KeySpec of one key at a fixed position.
func key(at int, flags string) KeySpec { return KeySpec{Flags: flags, First: at, Step: 1} }

// keys returns the KeySpec of the first argument and every step-th after it.
func keys(step int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: 1, Last: -1, Step: step}
}

// keysFrom returns the KeySpec of the arguments from first on.
func keysFrom(first int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: first, Last: -1, Step: 1}
}

// CountedKeys returns the KeySpec of keys that follow their count.
func CountedKeys(countAt int, flags string) KeySpec {
	return KeySpec{Flags: flags, First: countAt, Step: 1, KeyNum: true}
}

// A Handler runs a command, whose arity is right and whose shards are locked, and
// returns its reply.
type Handler func(c *Ctx) resp.Value

// A Command is a row of the command table. COMMAND and COMMAND DOCS, arity checks,
// queueing in MULTI, the rules of scripts, shard locking, INFO commandstats and
// docs/commands.md all read it; no rule about a command is anywhere else.
type Command struct {
	Name       string // lower case; a subcommand's own name without its parent's
	Called     string // the name by which clients call it; see NewTable and Table.Rename
	Arity      int    // with the name; -n means at least n
	Flags      Flags
	Keys       []KeySpec
	Channels   ChannelUse
	Categories []string // ACL categories, without '@', beside those of the flags and the group
	Tips       []string
	Group      string // as in COMMAND DOCS: "string", "sorted-set", ...
	Since      string // the Redis (or zlimit) version that introduced it
	Complexity string
	Summary    string // one sentence
	Syntax     string // arguments after the name, in the notation of Redis' manual
	Example    string // arguments of a call that RL.HELP shows; it cannot fail
	Deviation  string // how the command differs from Redis 7.0's; "": it does not
	Handler    Handler
	Place      Place // of a server with an upstream; see NewTable
	Subs       []Command

	// LooseSubs says that Handler runs for calls that fit none of Subs, as in Redis, where
	// they are no commands of their own.
	LooseSubs bool

	Selects bool // calls select the database that their first argument names

	// Event is the event that keyspace notifications publish for the changes of a
	// command that writes; "" if it is not always the same. See events.go.
	Event string

	// Reads reports whether a call of a command that writes cannot change anything. The
	// number of arguments is right. If it is nil, every call can. Such a call is a read for
	// everything that asks: scripts, replicas, key permissions, full disks and memory, pauses.
	Reads func(args [][]byte) bool

	// Keyless reports whether a call needs nothing of the keys that it names. The number of arguments is
	// right. If it is nil, every call needs them.
	Keyless func(args [][]byte) bool

	// Reaches reports whether a call may visit keys that it does not name, and so needs
	// every shard. The number of arguments is right. If it is nil, none does.
	Reaches func(args [][]byte) bool

	// Locks, if not nil, returns the shards that a call needs, if its keys do not decide
	// that: the commands that a script calls do. It may call c.Remember. EXEC passes a nil c,
	// about a call that it will make later; then Locks changes nothing.
	Locks func(c *Ctx, args [][]byte) store.ShardSet

	// Declares, if not nil, returns the flags Write, DenyOOM and Stale as the script that a
	// call names declares them. ok is false if it declares nothing.
	Declares func(args [][]byte) (flags Flags, ok bool)

	renamed bool // that is not its own name, or not its parent's
	parent  *Command
	id      int
	event   effects.Event
}

// FullName returns the command's name in errors, COMMAND LIST and statistics: "get",
// "config|get".
func (c *Command) FullName() string {
	if c.parent != nil {
		return c.parent.Name + "|" + c.Name
	}
	return c.Name
}

// Own returns the command, or its container if that has LooseSubs. It is what is counted
// and shown as a client's command.
func (c *Command) Own() *Command {
	if c.parent != nil && c.parent.LooseSubs {
		return c.parent
	}
	return c
}

// ID returns the number of Own. A table's commands and subcommands are numbered from 0
// without gaps.
func (c *Command) ID() int { return c.id }

// Is reports whether the command has all of the flags.
func (c *Command) Is(f Flags) bool { return c.Flags&f == f }

// Writes reports whether a call may change the keyspace.
func (c *Command) Writes(args [][]byte) bool { return c.Flags&Write != 0 && !c.looks(args) }

// looks reports whether a call only reads although the command writes.
func (c *Command) looks(args [][]byte) bool { return c.Reads != nil && c.Reads(args) }

// Replicates reports whether a call may write or be sent to replicas, as Redis sees it:
// CLIENT PAUSE WRITE postpones such calls, and a monitor must not make them.
func (c *Command) Replicates(args [][]byte) bool {
	if c.Declares != nil {
		if flags, ok := c.Declares(args); ok {
			return flags&Write != 0
		}
	}
	return c.Flags&(Write|MayReplicate) != 0 && !c.looks(args)
}

// DeclaresWrite reports whether a call may write, or names a script that declares that it
// does.
func (c *Command) DeclaresWrite(args [][]byte) bool {
	if c.Declares != nil {
		flags, ok := c.Declares(args)
		return ok && flags&Write != 0
	}
	return c.Writes(args)
}

// NeedsKeyspace reports whether a call is refused while the keyspace is loaded.
func (c *Command) NeedsKeyspace([][]byte) bool { return c.Flags&Loading == 0 }

// NeedsMaster reports whether a call is refused by a replica that has no link to its master
// and must not serve stale data.
func (c *Command) NeedsMaster(args [][]byte) bool {
	if c.Declares != nil {
		if flags, ok := c.Declares(args); ok {
			return flags&Stale == 0
		}
	}
	return c.Flags&Stale == 0
}

// InRedis reports whether Redis 7.0 has the command. Redis' versions have one digit
// before the point and one after it.
func (c *Command) InRedis() bool { return c.Group != "rate-limit" && c.Since < "7.1" }

// NeedsMemory reports whether a call is refused while memory is exhausted.
func (c *Command) NeedsMemory(args [][]byte) bool {
	if c.Declares != nil {
		if flags, ok := c.Declares(args); ok {
			return flags&DenyOOM != 0
		}
	}
	return c.Flags&DenyOOM != 0 && !c.looks(args)
}

// ArityOK reports whether the command accepts n arguments, including the name.
func (c *Command) ArityOK(n int) bool {
	if c.Arity < 0 {
		return n >= -c.Arity
	}
	return n == c.Arity
}
