package room

import (
	"math"
	"math/rand/v2"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// evictionPolicies are the values of maxmemory-policy.
var evictionPolicies = map[string]*store.Eviction{
	"noeviction":      nil,
	"allkeys-lru":     {By: store.EvictIdle},
	"allkeys-lfu":     {By: store.EvictFrequency},
	"allkeys-random":  {By: store.EvictRandom},
	"volatile-lru":    {By: store.EvictIdle, Volatile: true},
	"volatile-lfu":    {By: store.EvictFrequency, Volatile: true},
	"volatile-random": {By: store.EvictRandom, Volatile: true},
	"volatile-ttl":    {By: store.EvictDeadline, Volatile: true},
	"limiter-aware":   {By: store.EvictFullness},
}

// followEviction caches the directives of eviction.
func (k *Keeper) followEviction() {
	cfg := k.options.Config
	policy := evictionPolicies[cfg.String("maxmemory-policy")]
	stamps := store.StampTime
	if policy != nil {
		own := *policy
		own.Samples = int(cfg.Int("maxmemory-samples"))
		policy, stamps = &own, own.Stamps()
	}
	k.store.SetStamps(stamps, cfg.Int("lfu-log-factor"), cfg.Int("lfu-decay-time"))
	k.policy.Store(policy)
	k.budgetUs.Store(evictionBudgetUs(cfg.Int("maxmemory-eviction-tenacity")))
	k.max.Store(cfg.Int("maxmemory"))
	k.others.Store(k.options.Others())
}

// EvictsByUse reports whether directives set a maxmemory, and a policy that evicts keys by their use.
func EvictsByUse(cfg *config.View) bool {
	policy := evictionPolicies[cfg.String("maxmemory-policy")]
	return cfg.Int("maxmemory") != 0 && policy != nil &&
		(policy.By == store.EvictIdle || policy.By == store.EvictFrequency)
}

// evictionBudgetUs returns for how many microseconds a command may evict, as Redis
// derives it from maxmemory-eviction-tenacity.
func evictionBudgetUs(tenacity int64) int64 {
	switch {
	case tenacity <= 10:
		return 50 * tenacity
	case tenacity < 100:
		return int64(500 * math.Pow(1.15, float64(tenacity-10)))
	}
	return math.MaxInt64
}

// MaxMemory returns the directive maxmemory in bytes, 0 for no limit.
func (k *Keeper) MaxMemory() int64 { return k.max.Load() }

// used returns the memory that maxmemory bounds: all but the buffer of the append-only log, as in Redis. It
// is exact to some kilobytes for each shard.
func (k *Keeper) used() int64 {
	return k.store.UsedEstimate() + k.options.Buffers.Load() + k.options.Mail.Load() + k.others.Load()
}

// Exceeded reports whether used memory is so large that keys have to be evicted.
func (k *Keeper) Exceeded() bool {
	limit := k.max.Load()
	if limit == 0 {
		return false
	}
	if k.policy.Load() != nil && !k.dry.Load() {
		limit -= k.Reserve.Load()
	}
	return k.used() > limit
}

// stepsPerCheck is how often Make evicts something between two looks at the clock, as in Redis.
const stepsPerCheck = 16

// Make evicts keys until used memory is within the limit or, once it has evicted a few, the time for it is
// over. What is left to do is done by later calls, a timer and Ticks. It reports false if memory is exhausted
// and there is nothing to evict. No shard may be locked. g is scratch space. See docs/adr/0033.
func (k *Keeper) Make(g *effects.Group) (ok bool) {
	if !k.Exceeded() || k.options.Loading() || k.options.Suspended() || k.options.Replica() {
		return true
	}
	policy := k.policy.Load()
	beganUs := k.clock.MonotonicUs()
	defer func() { k.options.Event(latency.Evict, k.clock.MonotonicUs()-beganUs) }()
	k.sinceUs.CompareAndSwap(0, max(beganUs, 1))
	shard, misses, steps := rand.IntN(store.NumShards), 0, 0
	for policy != nil && misses < store.NumShards {
		if misses++; k.evictStep(g, policy, shard) {
			misses = 0
			if !k.Exceeded() {
				k.endExcess(k.clock.MonotonicUs())
				return true
			}
			steps++
			if steps%stepsPerCheck == 0 && k.clock.MonotonicUs()-beganUs > k.budgetUs.Load() {
				k.makeLater()
				return true
			}
		}
		shard = (shard + 1) % store.NumShards
	}
	k.dry.Store(true)
	k.others.Store(k.options.Others())
	limit := k.max.Load()
	return limit == 0 || k.used() <= limit
}

// endExcess ends the time for which memory has been exceeded.
func (k *Keeper) endExcess(nowUs int64) {
	if since := k.sinceUs.Swap(0); since != 0 {
		k.exceeded.Add(max(nowUs-since, 0))
	}
}

// evictStep makes some room in a shard or in another one, and reports whether it did.
func (k *Keeper) evictStep(g *effects.Group, policy *store.Eviction, shard int) bool {
	other := (shard + 1 + rand.IntN(store.NumShards-1)) % store.NumShards
	held := store.OneShard(shard) | store.OneShard(other)
	if !k.store.LockOrCancel(held, k.options.BusyChange()) {
		return false
	}
	defer k.options.Changed()
	defer k.store.Unlock(held)
	if k.options.Torn(held) || k.options.Replica() { // it has become a replica since
		return false
	}
	nowMs := k.clock.NowUs() / 1000
	recorded := k.options.Record(g, held)
	removed, evicted := k.store.Evict([2]int{shard, other}, policy, nowMs, rand.Uint64N)
	if recorded {
		k.options.Commit(g, held, nowMs)
	}
	k.Evicted.Add(int64(evicted))
	return removed > 0
}

// makeLater goes on making room a millisecond later, if there are timers.
func (k *Keeper) makeLater() {
	if k.options.After == nil || !k.running.CompareAndSwap(false, true) {
		return
	}
	k.options.After(1, func() {
		k.running.Store(false)
		k.makeSome()
	})
}

// makeSome makes room in the background.
func (k *Keeper) makeSome() {
	k.others.Store(k.options.Others())
	k.dry.Store(false)
	var g effects.Group
	k.Make(&g)
	if !k.Exceeded() {
		k.endExcess(k.clock.MonotonicUs())
	}
}

// ExceededUs returns for how long memory was exceeded in total, and for how long it is now.
func (k *Keeper) ExceededUs(nowUs int64) (total, current int64) {
	if since := k.sinceUs.Load(); since != 0 {
		current = max(nowUs-since, 0)
	}
	return k.exceeded.Load() + current, current
}
