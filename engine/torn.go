package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A script that is past busy-reply-threshold when the process ends is ended. If
// it had written, memory holds half of what it was to do. The files must not: its
// group, which is that of the EXEC around it, is dropped, and the shards that it
// had are torn. No command runs on a torn shard, its keys do not expire, and no
// snapshot begins. So the log ends with what was whole, and a snapshot is one of
// before.

// torn are the shards that hold half of a command.
type torn struct{ shards atomic.Uint64 }

func (t *torn) add(shards store.ShardSet) { t.shards.Or(uint64(shards)) }

// has reports whether one of shards is torn. It requires that they are held.
func (t *torn) has(shards store.ShardSet) bool { return store.ShardSet(t.shards.Load())&shards != 0 }

// any reports whether a shard is torn.
func (t *torn) any() bool { return t.shards.Load() != 0 }

// drop ends a command whose script was ended. Nothing that it has done is kept,
// and nobody is served of it.
func (s *Session) drop(shards store.ShardSet, reply resp.Value) resp.Value {
	c := &s.ctx
	half := c.Cut == commands.CutHalf && (c.Group == nil || c.Group.Len() > 0)
	c.Cut, c.Waiting = commands.CutNone, nil
	if half {
		s.group.Reset()
		if !s.engine.torn.any() {
			s.engine.logf("a script that had written was ended: nothing of it is kept")
		}
		s.engine.torn.add(shards)
		s.closing = true
	}
	return reply
}
