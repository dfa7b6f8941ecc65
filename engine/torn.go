package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A script that is past busy-reply-threshold when the process ends is killed. If it
// had written, memory holds half of what it was to do, and files must not: its
// effects, with those of the EXEC around it, are dropped, and its shards are torn.
// No command runs on a torn shard, its keys do not expire, and no snapshot begins.
// So the log ends with the last complete command, and a snapshot is from before.

// torn has the shards that hold half of a command.
type torn struct{ shards atomic.Uint64 }

func (t *torn) add(shards store.ShardSet) { t.shards.Or(uint64(shards)) }

// has reports whether one of shards is torn. They must be locked.
func (t *torn) has(shards store.ShardSet) bool { return store.ShardSet(t.shards.Load())&shards != 0 }

// any reports whether a shard is torn.
func (t *torn) any() bool { return t.shards.Load() != 0 }

// drop ends a command whose script was killed. Its effects are dropped, and no
// blocked session is served.
func (s *Session) drop(shards store.ShardSet, reply resp.Value) resp.Value {
	c := &s.ctx
	half := c.Cut == commands.CutHalf && (c.Group == nil || c.Group.Len() > 0)
	c.Cut, c.Waiting = commands.CutNone, nil
	if half {
		s.group.Reset()
		if !s.engine.torn.any() {
			s.engine.log.Warn("a script that had written was ended: nothing of it is kept")
		}
		s.engine.torn.add(shards)
		s.closing = true
	}
	return reply
}
