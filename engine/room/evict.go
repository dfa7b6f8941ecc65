package room

import (
	"math"
	"math/rand/v2"
	"sync/atomic"

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
	k.options.Store.SetStamps(stamps, cfg.Int("lfu-log-factor"), cfg.Int("lfu-decay-time"))
	k.policy.Store(policy)
	k.budgetUs.Store(evictionBudgetUs(cfg.Int("maxmemory-eviction-tenacity")))
	k.Limit.max.Store(cfg.Int("maxmemory"))
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

// A Limit is how much memory may be used.
type Limit struct {
	max     atomic.Int64 // maxmemory; 0: there is no limit, and nothing else is looked at
	Reserve atomic.Int64 // see engine.Engine.SetReserve
	dry     atomic.Bool  // there was nothing to evict, since the last Tick
}

// kept returns how much of the memory is kept free by a policy, which is nil if nothing is evicted.
func (l *Limit) kept(policy *store.Eviction) int64 {
	if policy == nil || l.dry.Load() {
		return 0
	}
	return l.Reserve.Load()
}

// excess is for how long memory was exceeded, on Clock.MonotonicUs.
type excess struct {
	totalUs atomic.Int64 // before sinceUs
	sinceUs atomic.Int64 // since when it is; 0: it is not
}

func (x *excess) begin(nowUs int64) { x.sinceUs.CompareAndSwap(0, max(nowUs, 1)) }

func (x *excess) end(nowUs int64) {
	if since := x.sinceUs.Swap(0); since != 0 {
		x.totalUs.Add(max(nowUs-since, 0))
	}
}

// MaxMemory returns the directive maxmemory in bytes, 0 for no limit.
func (k *Keeper) MaxMemory() int64 { return k.Limit.max.Load() }

// used returns the memory that maxmemory bounds: all but the buffer of the append-only log, as in Redis. It
// is exact to some kilobytes for each shard.
func (k *Keeper) used() int64 {
	return k.options.Store.UsedEstimate() + k.options.Buffers.Load() + k.options.Mail.Load() + k.others.Load()
}

// Exceeded reports whether used memory is so large that keys have to be evicted.
func (k *Keeper) Exceeded() bool {
	limit := k.Limit.max.Load()
	return limit != 0 && k.used() > limit-k.Limit.kept(k.policy.Load())
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
	beganUs := k.options.Clock.MonotonicUs()
	defer func() { k.options.Event(latency.Evict, k.options.Clock.MonotonicUs()-beganUs) }()
	k.excess.begin(beganUs)
	shard, misses, steps := rand.IntN(store.NumShards), 0, 0
	for policy != nil && misses < store.NumShards {
		if misses++; k.evictStep(g, policy, shard) {
			misses = 0
			if !k.Exceeded() {
				k.excess.end(k.options.Clock.MonotonicUs())
				return true
			}
			steps++
			if steps%stepsPerCheck == 0 && k.options.Clock.MonotonicUs()-beganUs > k.budgetUs.Load() {
				k.makeLater()
				return true
			}
		}
		shard = (shard + 1) % store.NumShards
	}
	k.Limit.dry.Store(true)
	k.others.Store(k.options.Others())
	limit := k.Limit.max.Load()
	return limit == 0 || k.used() <= limit
}

// evictStep makes some room in a shard or in another one, and reports whether it did.
func (k *Keeper) evictStep(g *effects.Group, policy *store.Eviction, shard int) bool {
	other := (shard + 1 + rand.IntN(store.NumShards-1)) % store.NumShards
	held := store.OneShard(shard) | store.OneShard(other)
	if !k.options.Store.LockOrCancel(held, k.options.BusyChange()) {
		return false
	}
	defer k.options.Changed()
	defer k.options.Store.Unlock(held)
	if k.options.Torn(held) || k.options.Replica() { // it has become a replica since
		return false
	}
	nowMs := k.options.Clock.NowUs() / 1000
	recorded := k.options.Record(g, held)
	removed, evicted := k.options.Store.Evict([2]int{shard, other}, policy, nowMs, rand.Uint64N)
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
	k.Limit.dry.Store(false)
	var g effects.Group
	k.Make(&g)
	if !k.Exceeded() {
		k.excess.end(k.options.Clock.MonotonicUs())
	}
}

// ExceededUs returns for how long memory was exceeded in total, and for how long it is now.
func (k *Keeper) ExceededUs(nowUs int64) (total, current int64) {
	if since := k.excess.sinceUs.Load(); since != 0 {
		current = max(nowUs-since, 0)
	}
	return k.excess.totalUs.Load() + current, current
}
