package commands

import (
	"github.com/zlimit/zlimit/store/effects"
)

// What keyspace notifications call a change follows from where it happened. A
// command's row names its Event, and its Group the class: that is said of every
// key that the handler changes, in the order in which it changes them. The store
// adds what any command may cause: a key is new, or gone with its last element,
// or was found past its deadline, or is not there. A command that has no one word
// for what it does says what it calls it by Ctx.changesAre, before it changes
// anything; one that Redis tells two things of adds the other by Ctx.note. What
// the commands of RL.* have done is told in the words in which the log has it.
// See docs/adr/0025-what-changed.md.

// eventClasses are the classes of events by the groups of commands.
var eventClasses = map[string]effects.Flags{
	"generic": effects.Generic, "string": effects.Strings, "bitmap": effects.Strings, "list": effects.Lists,
	"set": effects.Sets, "hash": effects.Hashes, "sorted-set": effects.ZSets, "server": effects.Generic,
}

// Events that no row names.
var (
	eventExpire     = effects.Event{Name: "expire", Class: effects.Generic}
	eventLPop       = effects.Event{Name: "lpop", Class: effects.Lists}
	eventLPush      = effects.Event{Name: "lpush", Class: effects.Lists}
	eventMoveFrom   = effects.Event{Name: "move_from", Class: effects.Generic}
	eventMoveTo     = effects.Event{Name: "move_to", Class: effects.Generic}
	eventPersist    = effects.Event{Name: "persist", Class: effects.Generic}
	eventRPop       = effects.Event{Name: "rpop", Class: effects.Lists}
	eventRPush      = effects.Event{Name: "rpush", Class: effects.Lists}
	eventRenameFrom = effects.Event{Name: "rename_from", Class: effects.Generic}
	eventRenameTo   = effects.Event{Name: "rename_to", Class: effects.Generic}
	eventSAdd       = effects.Event{Name: "sadd", Class: effects.Sets}
	eventSPop       = effects.Event{Name: "spop", Class: effects.Sets}
	eventSRem       = effects.Event{Name: "srem", Class: effects.Sets}
	eventSet        = effects.Event{Name: "set", Class: effects.Strings}
	eventSortStore  = effects.Event{Name: "sortstore", Class: effects.Lists}
	eventZIncr      = effects.Event{Name: "zincr", Class: effects.ZSets}
	eventZPopMax    = effects.Event{Name: "zpopmax", Class: effects.ZSets}
	eventZPopMin    = effects.Event{Name: "zpopmin", Class: effects.ZSets}
)

// loggedEvents are what the words of the log are called: all that a command that
// Redis does not have may leave there. Of a DEL the store tells.
var loggedEvents = map[string]effects.Event{
	"HSET":             {Name: "hset", Class: effects.Hashes},
	"PEXPIREAT":        eventExpire,
	"SET":              eventSet,
	"ZADD":             {Name: "zadd", Class: effects.ZSets},
	"ZREM":             {Name: "zrem", Class: effects.ZSets},
	"ZREMRANGEBYSCORE": {Name: "zremrangebyscore", Class: effects.ZSets},
}

// ChangeEvent is what notifications call what a call changes, where that is one
// word; the zero Event where it is not.
func (c *Command) ChangeEvent() effects.Event { return c.event }

// setEvent prepares what ChangeEvent answers.
func (c *Command) setEvent() {
	if c.Event != "" {
		c.event = effects.Event{Name: c.Event, Class: eventClasses[c.Group]}
	}
}

// changesAre says what to call the changes from here to the end of the command.
func (c *Ctx) changesAre(e effects.Event) {
	if c.Group != nil {
		c.Group.SetEvent(e)
	}
}

func (e listEnd) pushEvent() effects.Event {
	if e == left {
		return eventLPush
	}
	return eventRPush
}

func (e listEnd) popEvent() effects.Event {
	if e == left {
		return eventLPop
	}
	return eventRPop
}

func zpopEvent(highest bool) effects.Event {
	if highest {
		return eventZPopMax
	}
	return eventZPopMin
}

// note adds an event to those of the changes.
func (c *Ctx) note(e effects.Event, key []byte) {
	if c.Group != nil {
		c.Group.Note(c.DB.ID(), e, key)
	}
}
