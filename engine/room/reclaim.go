package room

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

const (
	// reclaimSlice is how many keys one step visits under a lock: some tens of
	// microseconds.
	reclaimSlice = 64
	// keysPerYield is how many keys a Tick visits between two yields, so that a storm
	// of expiring keys takes about a quarter of one processor, as it may in Redis.
	keysPerYield = 512
	// yieldsPerTick bounds how long the other work of a Tick waits.
	yieldsPerTick = 64
)

// Reclaims is what Ticks do about expired keys. The counts are since the start or ResetStats.
type Reclaims struct {
	Us   atomic.Int64 // microseconds that were spent
	Cuts atomic.Int64 // Ticks that left expired keys to the next one
	Off  atomic.Bool  // DEBUG SET-ACTIVE-EXPIRE 0
	at   int          // the shard that the next Tick reclaims first; used by Tick only
}

// advance goes on to the next shard.
func (r *Reclaims) advance() { r.at = (r.at + 1) % store.NumShards }

// Reclaim removes all keys whose deadline has passed, in small steps that lock one
// shard each.
func (k *Keeper) Reclaim() {
	if k.options.Loading() {
		return // the rest of the files may extend a deadline
	}
	var g effects.Group
	for shard := range store.NumShards {
		for more := true; more; {
			_, more = k.reclaimStep(&g, shard)
		}
	}
}

// reclaimSome is Reclaim for a Tick: it yields now and then, and leaves what is too
// much to the next Tick.
func (k *Keeper) reclaimSome() {
	if k.options.Loading() {
		return
	}
	beganUs, pausedUs := k.options.Clock.MonotonicUs(), int64(0)
	defer func() {
		us := max(k.options.Clock.MonotonicUs()-beganUs, 0)
		k.Reclaims.Us.Add(us)
		k.options.Event(latency.Expire, us-pausedUs)
	}()
	var g effects.Group
	y := store.Yielder{Every: keysPerYield}
	if k.options.Pause != nil {
		y.Yield = func() {
			startUs := k.options.Clock.MonotonicUs()
			k.options.Pause()
			pausedUs += k.options.Clock.MonotonicUs() - startUs
		}
	}
	for range store.NumShards {
		for more := true; more; {
			var n int
			n, more = k.reclaimStep(&g, k.Reclaims.at)
			if y.Add(n); y.Yields == yieldsPerTick {
				k.Reclaims.Cuts.Add(1)
				return
			}
		}
		k.Reclaims.advance()
	}
}

// reclaimStep locks one shard and reclaims a few keys, or does some of the work that changes of large values
// have deferred. A shard that a script past busy-reply-threshold holds is left for later.
func (k *Keeper) reclaimStep(g *effects.Group, shard int) (examined int, more bool) {
	held := store.OneShard(shard)
	if !k.options.Store.LockOrCancel(held, k.options.BusyChange()) {
		return 0, false
	}
	defer k.options.Store.Unlock(held)
	if k.options.Torn(held) {
		return 0, false
	}
	nowMs := k.options.Clock.NowUs() / 1000
	recorded := k.options.Record(g, held)
	examined, more = k.options.Store.Reclaim(held, nowMs, reclaimSlice)
	if recorded {
		k.options.Commit(g, held, nowMs)
	}
	if more {
		return examined, true
	}
	done, more := k.options.Store.Finish(held, reclaimSlice)
	return examined + done, more
}

// ReclaimLocked removes every key that is due, for a command that records it. Every shard must be locked.
func (k *Keeper) ReclaimLocked(nowMs int64) {
	for more := true; more; {
		_, more = k.options.Store.Reclaim(store.AllShards, nowMs, reclaimSlice)
	}
}
