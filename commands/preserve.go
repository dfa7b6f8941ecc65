package commands

import (
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// preserve passes the keys that the call may change to the snapshot in progress. For
// keys of other databases, the store does this itself.
func (c *Ctx) preserve() {
	if !c.Cmd.Writes(c.Args) {
		return
	}
	c.scratch.keys = c.Cmd.AppendKeys(c.scratch.keys[:0], c.Args)
	for _, key := range c.scratch.keys {
		c.DB.Preserve(key)
	}
	clear(c.scratch.keys)
}

// A PendingCopy is a value that is copied in steps. Value is complete once Step reports
// that there is no more. Step requires that every shard is locked, because the key
// may have been renamed.
type PendingCopy interface {
	Step(count int) (more bool)
	Value() any
}

// Freeze returns a key's current value for another goroutine, which can read it with
// All, Ascend and Len while the key changes. If copying it would take long, Freeze
// returns a PendingCopy.
func Freeze(data any) any {
	switch v := data.(type) {
	case *store.String:
		return v.Freeze()
	case *zset.Set:
		return v.Freeze()
	case *set.Set:
		whole, view := v.Freeze()
		if view != nil {
			return view
		}
		return whole
	case *hash.Hash:
		whole, view := v.Freeze()
		if view != nil {
			return view
		}
		return whole
	case *list.List:
		return v.Freeze()
	}
	panic("commands: a value of unknown type in the keyspace")
}
