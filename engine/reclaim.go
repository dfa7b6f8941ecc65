package engine

import (
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/engine/tracking"
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
func (e *Engine) Reclaim() {
	if e.storage.Loading() {
		return // the rest of the files may extend a deadline
	}
	var g effects.Group
	for shard := range store.NumShards {
		for more := true; more; {
			_, more = e.reclaimStep(&g, shard)
		}
	}
}

// reclaimSome is Reclaim for a Tick: it yields now and then, and leaves what is too
// much to the next Tick.
func (e *Engine) reclaimSome() {
	if e.storage.Loading() {
		return
	}
	beganUs, pausedUs := e.clock.MonotonicUs(), int64(0)
	defer func() {
		us := max(e.clock.MonotonicUs()-beganUs, 0)
		e.stats.ReclaimUs.Add(us)
		e.slow.event(latency.Expire, us-pausedUs)
	}()
	var g effects.Group
	y := store.Yielder{Every: keysPerYield}
	if e.options.Pause != nil {
		y.Yield = func() {
			startUs := e.clock.MonotonicUs()
			e.options.Pause()
			pausedUs += e.clock.MonotonicUs() - startUs
		}
	}
	for range store.NumShards {
		for more := true; more; {
			var n int
			n, more = e.reclaimStep(&g, e.reclaimAt)
			if y.Add(n); y.Yields == yieldsPerTick {
				e.stats.ReclaimCuts.Add(1)
				return
			}
		}
		e.reclaimAt = (e.reclaimAt + 1) % store.NumShards
	}
}

// reclaimStep locks one shard and reclaims a few keys, or does a little of what changes of large values have
// left to do. A shard that a script past busy-reply-threshold holds is left for later.
func (e *Engine) reclaimStep(g *effects.Group, shard int) (examined int, more bool) {
	held := store.OneShard(shard)
	if !e.store.LockOrCancel(held, e.scripts.BusyChange()) {
		return 0, false
	}
	defer e.store.Unlock(held)
	if e.locks.torn.has(held) {
		return 0, false
	}
	examined, more = e.reclaim(g, held, e.clock.NowUs()/1000)
	if more {
		return examined, true
	}
	done, more := e.store.Finish(held, reclaimSlice)
	return examined + done, more
}

// reclaim removes and records what is due among about reclaimSlice keys of shards
// that are locked.
func (e *Engine) reclaim(g *effects.Group, shards store.ShardSet, nowMs int64) (examined int, more bool) {
	e.recordStep(g, shards, nowMs, func() {
		examined, more = e.store.Reclaim(shards, nowMs, reclaimSlice)
	})
	return examined, more
}

// recordStep runs step, which removes keys of shards that are locked and belongs to no
// command, and records what it did.
func (e *Engine) recordStep(g *effects.Group, shards store.ShardSet, nowMs int64, step func()) {
	wanted := e.recording.wanted()
	if wanted == 0 {
		step()
		return
	}
	g.Want(wanted)
	e.store.Record(shards, g)
	step()
	e.store.Record(shards, nil)
	e.broker.DeferEvents(g)
	out := e.recording.tracking.Invalidations()
	out.Add(g, tracking.Author{})
	e.recording.append(g, nowMs)
	out.SendBeforeReply()
	out.SendAfterReplies()
}

// reclaimAll removes every key that is due. Every shard must be locked.
func (e *Engine) reclaimAll(nowMs int64) {
	for more := true; more; {
		_, more = e.store.Reclaim(store.AllShards, nowMs, reclaimSlice)
	}
}
