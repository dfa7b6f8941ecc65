package room

import (
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// setPrefixLimits sets the limits of rl-max-keys-per-prefix. See docs/adr/0035.
func (k *Keeper) setPrefixLimits() {
	var limits []store.PrefixLimit
	for _, l := range k.options.Config.KeyLimits("rl-max-keys-per-prefix") {
		limits = append(limits, store.PrefixLimit{Prefix: l.Prefix, Max: l.Keys})
	}
	k.options.Store.SetPrefixLimits(limits)
}

// CountPrefixes makes the limits take effect if they were changed, and returns when they have. No shard may
// be locked. What a script past busy-reply-threshold holds is left to Tick.
func (k *Keeper) CountPrefixes() {
	if k.options.Store.PrefixesCounted() || k.options.Loading() {
		return
	}
	k.counting.Lock()
	defer k.counting.Unlock()
	y := k.yielder()
	for k.countStep(&y) {
	}
}

// countSomePrefixes is CountPrefixes for a Tick: it leaves what is too much to the next one.
func (k *Keeper) countSomePrefixes() {
	if k.options.Store.PrefixesCounted() || k.options.Loading() || !k.counting.TryLock() {
		return
	}
	defer k.counting.Unlock()
	y := k.yielder()
	for y.Yields < yieldsPerTick && k.countStep(&y) {
	}
}

// countStep locks one shard and counts a few keys. It reports whether the walk goes on. It requires
// counting.
func (k *Keeper) countStep(y *store.Yielder) (more bool) {
	shard, more := k.walk.Next(k.options.Store)
	if !more {
		return false
	}
	held := store.OneShard(shard)
	if !k.options.Store.LockOrCancel(held, k.options.BusyChange()) {
		return false
	}
	examined := k.walk.Step(k.options.Store)
	k.options.Store.Unlock(held)
	y.Add(examined)
	return true
}

// ReclaimPrefix reclaims keys that had expired at nowMs, all of them or until there is room
// under a prefix, and reports whether there is. A second call at the same instant has
// nothing to reclaim, so a flood of refused calls costs other sessions at most one pass
// over the shards in a millisecond.
func (k *Keeper) ReclaimPrefix(p *store.Prefix, nowMs int64, all bool) bool {
	if !all && p.HasRoom() || k.sweptMs.Load() >= nowMs || k.options.Loading() {
		return p.HasRoom()
	}
	var g effects.Group
	y := k.yielder()
	for shard := range store.NumShards {
		for more := true; more; {
			var examined int
			if examined, more = k.reclaimStep(&g, shard); !all && p.HasRoom() {
				return true
			}
			y.Add(examined)
		}
	}
	k.sweptMs.Store(nowMs)
	return p.HasRoom()
}

func (k *Keeper) yielder() store.Yielder {
	return store.Yielder{Every: keysPerYield, Yield: k.options.Pause}
}
