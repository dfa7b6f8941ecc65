package engine

import (
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

const (
	// reclaimSlice is how many keys one step examines under a lock: some tens of
	// microseconds.
	reclaimSlice = 64
	// keysPerRest is how many keys a Tick looks at between two rests, so that a
	// storm of expiring keys takes about a quarter of one processor, as it may in
	// Redis.
	keysPerRest = 512
	// restsPerTick bounds how long the other duties of a Tick wait.
	restsPerTick = 64
)

// Reclaim removes keys whose deadline has passed, in small steps that lock one
// shard each, until nothing is due.
func (e *Engine) Reclaim() {
	if e.storage.Loading() {
		return // what the files still hold may save a key
	}
	var g effects.Group
	for shard := range store.NumShards {
		for more := true; more; {
			_, more = e.reclaimStep(&g, shard)
		}
	}
}

// reclaimSome is Reclaim for a Tick: it leaves the processor to others now and
// then, and where much is due goes on from there at the next Tick.
func (e *Engine) reclaimSome() {
	if e.storage.Loading() {
		return
	}
	beganUs := e.clock.MonotonicUs()
	defer func() { e.stats.reclaimUs.Add(max(e.clock.MonotonicUs()-beganUs, 0)) }()
	var g effects.Group
	p := pace{engine: e, every: keysPerRest}
	for range store.NumShards {
		for more := true; more; {
			var n int
			n, more = e.reclaimStep(&g, e.reclaimAt)
			if p.walked(n); p.rests == restsPerTick {
				e.stats.reclaimCut.Add(1)
				return
			}
		}
		e.reclaimAt = (e.reclaimAt + 1) % store.NumShards
	}
}

// reclaimStep locks one shard and reclaims a little. A shard that a script past
// the threshold has is left for later.
func (e *Engine) reclaimStep(g *effects.Group, shard int) (examined int, more bool) {
	held := store.ShardSet(1) << shard
	if !e.store.LockUnless(held, e.scripts.BusyChange()) {
		return 0, false
	}
	defer e.store.Unlock(held)
	if e.torn.has(held) {
		return 0, false
	}
	return e.reclaim(g, held, e.clock.NowUs()/1000)
}

// reclaim removes what is due in shards that are held, of reclaimSlice keys or a
// few more, and records it.
func (e *Engine) reclaim(g *effects.Group, shards store.ShardSet, nowMs int64) (examined int, more bool) {
	wanted := e.recording.wanted()
	if wanted == 0 {
		return e.store.Reclaim(shards, nowMs, reclaimSlice)
	}
	g.Want(wanted)
	e.store.Record(shards, g)
	examined, more = e.store.Reclaim(shards, nowMs, reclaimSlice)
	e.store.Record(shards, nil)
	e.broker.DeferEvents(g)
	out := invalidations{engine: e}
	out.look(g, changer{})
	e.append(g, nowMs)
	out.tellFirst()
	out.tellBehind()
	return examined, more
}

// reclaimAll removes every key that is due. Every shard is held.
func (e *Engine) reclaimAll(nowMs int64) {
	for more := true; more; {
		_, more = e.store.Reclaim(store.AllShards, nowMs, reclaimSlice)
	}
}
