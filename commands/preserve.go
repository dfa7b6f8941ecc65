package commands

import (
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// preserve hands the keys of a call that may change them to the snapshot that is
// under way. What the call does to keys of other databases goes through methods
// of the store that do so themselves.
func (c *Ctx) preserve() {
	if !c.Cmd.Writes(c.Args) {
		return
	}
	c.keys = c.Cmd.AppendKeys(c.keys[:0], c.Args)
	for _, key := range c.keys {
		c.DB.Preserve(key)
	}
	clear(c.keys)
}

// A View is a value that is still being copied, slice by slice: until Step
// reports that nothing is left, and Value is it. Every shard must be held for
// Step: the key may have been renamed.
type View interface {
	Step(count int) (more bool)
	Value() any
}

// Frozen returns a key's value as it is now, for somebody who reads it later, in
// another goroutine, while the key changes. It is good for reading from one end
// to the other only: All, Ascend, Len. Where that would take long it is a View.
func Frozen(data any) any {
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
