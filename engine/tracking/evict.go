package tracking

import (
	"math/rand/v2"

	"github.com/zlimit/zlimit/store"
)

// evictSlice is how many keys a command evicts at most from a table that exceeds its
// limit, multiplied by the number of commands in a row that found it so.
const evictSlice = 100

// Evict evicts keys beyond tracking-table-max-keys from the given shards, which must
// be locked, and invalidates them.
func (out *Invalidations) Evict(shards store.ShardSet) {
	t := out.state
	limit := t.MaxKeys.Load()
	if limit == 0 || t.table.keys.Load() <= limit {
		return
	}
	effort := evictSlice * t.overLimit.Add(1)
	for ; t.table.keys.Load() > limit; effort-- {
		if effort == 0 {
			return
		}
		key, readers, ok := t.table.evict(shards, rand.IntN(store.NumShards))
		if !ok {
			break
		}
		out.addEvicted(key, readers)
	}
	t.overLimit.Store(0)
}

// Tick evicts what no command has evicted. If no session is left that has tracked, it clears the table
// and stops recording, so that an unused table costs nothing. It leaves out shards that are locked.
func (t *State) Tick(keys *store.Store) {
	for i := range store.NumShards {
		limit := t.MaxKeys.Load()
		over := limit > 0 && t.table.keys.Load() > limit
		if alive := t.trackers.Load() > 0; alive && !over || !alive && t.table.keys.Load() == 0 {
			break
		}
		shard := store.OneShard((i + t.evictAt) % store.NumShards)
		if !keys.TryLock(shard) {
			continue
		}
		out := t.Invalidations()
		if t.trackers.Load() == 0 {
			t.table.clear(shard)
		} else {
			out.Evict(shard)
			out.SendAfterReplies()
		}
		keys.Unlock(shard)
	}
	t.evictAt = (t.evictAt + 1) % store.NumShards
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trackers.Load() == 0 && t.table.keys.Load() == 0 {
		t.record(false)
	}
}
