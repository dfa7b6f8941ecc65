package room

import (
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
	beganUs, pausedUs := k.clock.MonotonicUs(), int64(0)
	defer func() {
		us := max(k.clock.MonotonicUs()-beganUs, 0)
		k.ReclaimUs.Add(us)
		k.options.Event(latency.Expire, us-pausedUs)
	}()
	var g effects.Group
	y := store.Yielder{Every: keysPerYield}
	if k.options.Pause != nil {
		y.Yield = func() {
			startUs := k.clock.MonotonicUs()
			k.options.Pause()
			pausedUs += k.clock.MonotonicUs() - startUs
		}
	}
	for range store.NumShards {
		for more := true; more; {
			var n int
			n, more = k.reclaimStep(&g, k.reclaimAt)
			if y.Add(n); y.Yields == yieldsPerTick {
				k.ReclaimCuts.Add(1)
				return
			}
		}
		k.reclaimAt = (k.reclaimAt + 1) % store.NumShards
	}
}

// reclaimStep locks one shard and reclaims a few keys, or does some of the work that changes of large values
// have deferred. A shard that a script past busy-reply-threshold holds is left for later.
func (k *Keeper) reclaimStep(g *effects.Group, shard int) (examined int, more bool) {
	held := store.OneShard(shard)
	if !k.store.LockOrCancel(held, k.options.BusyChange()) {
		return 0, false
	}
	defer k.store.Unlock(held)
	if k.options.Torn(held) {
		return 0, false
	}
	nowMs := k.clock.NowUs() / 1000
	recorded := k.options.Record(g, held)
	examined, more = k.store.Reclaim(held, nowMs, reclaimSlice)
	if recorded {
		k.options.Commit(g, held, nowMs)
	}
	if more {
		return examined, true
	}
	done, more := k.store.Finish(held, reclaimSlice)
	return examined + done, more
}

// ReclaimLocked removes every key that is due, for a command that records it. Every shard must be locked.
func (k *Keeper) ReclaimLocked(nowMs int64) {
	for more := true; more; {
		_, more = k.store.Reclaim(store.AllShards, nowMs, reclaimSlice)
	}
}
