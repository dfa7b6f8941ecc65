package commands

import (
	"github.com/zlimit/zlimit/store/effects"
)

// The event of a keyspace notification depends on where the change is made. A command's
// row names its Event, and its Group the class: every key that the handler changes has
// that event, in the order of the changes. The store adds the events that any command
// may cause: a key is created, removed with its last element, found expired, or missed.
// A command whose event is not always the same calls Ctx.changesAre before it changes
// anything, and one that causes a second event calls Ctx.note. The events of RL.* are
// those of the commands in the log. See docs/adr/0025-what-changed.md.

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

// loggedEvents are the events of the commands that RL.* may leave in the log. The event
// of a DEL comes from the store.
var loggedEvents = map[string]effects.Event{
	"HSET":             {Name: "hset", Class: effects.Hashes},
	"PEXPIREAT":        eventExpire,
	"SET":              eventSet,
	"ZADD":             {Name: "zadd", Class: effects.ZSets},
	"ZREM":             {Name: "zrem", Class: effects.ZSets},
	"ZREMRANGEBYSCORE": {Name: "zremrangebyscore", Class: effects.ZSets},
}

// ChangeEvent returns the event of the command's changes, or the zero Event if it is
// not always the same.
func (c *Command) ChangeEvent() effects.Event { return c.event }

// setEvent sets what ChangeEvent returns.
func (c *Command) setEvent() {
	if c.Event != "" {
		c.event = effects.Event{Name: c.Event, Class: eventClasses[c.Group]}
	}
}

// changesAre sets the event of the changes from here to the end of the command.
func (c *Ctx) changesAre(e effects.Event) {
	if c.Group() != nil {
		c.Group().SetEvent(e)
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
	if c.Group() != nil {
		c.Group().Note(c.DB.ID(), e, key)
	}
}
