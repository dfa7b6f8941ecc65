package engine

import (
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// eviction keeps used memory below maxmemory. Before a command runs, its session removes
// keys until there is room, for a bounded time; what is left to do is done by later
// commands, timers and ticks. See docs/adr/0033.
type eviction struct {
	max      atomic.Int64 // maxmemory; 0: there is no limit, and nothing else is looked at
	policy   atomic.Pointer[store.Eviction]
	budgetUs atomic.Int64 // how long a command may make room
	reserve  atomic.Int64 // see SetReserve
	dry      atomic.Bool  // there was nothing to evict, since the last tick
	others   atomic.Int64 // used memory that is neither the keyspace nor buffers, as of the last tick

	running  atomic.Bool  // a timer is set that goes on making room
	evicted  atomic.Int64 // keys, since the start or CONFIG RESETSTAT
	sinceUs  atomic.Int64 // since when memory is exceeded, on Clock.MonotonicUs; 0: it is not
	exceeded atomic.Int64 // for how many microseconds it was before
}

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
func (e *Engine) followEviction() {
	v := &e.evict
	policy := evictionPolicies[e.cfg.String("maxmemory-policy")]
	stamps := store.StampTime
	if policy != nil {
		own := *policy
		own.Samples = int(e.cfg.Int("maxmemory-samples"))
		policy, stamps = &own, own.Stamps()
	}
	e.store.SetStamps(stamps, e.cfg.Int("lfu-log-factor"), e.cfg.Int("lfu-decay-time"))
	v.policy.Store(policy)
	v.budgetUs.Store(evictionBudgetUs(e.cfg.Int("maxmemory-eviction-tenacity")))
	v.max.Store(e.cfg.Int("maxmemory"))
	e.refreshOthers()
}

// evictsByUse reports whether there is a maxmemory, and a policy that evicts keys by their use.
func (e *Engine) evictsByUse() bool {
	policy := evictionPolicies[e.cfg.String("maxmemory-policy")]
	return e.cfg.Int("maxmemory") != 0 && policy != nil &&
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

// MaxMemory returns the directive maxmemory, in bytes; 0 means that there is no limit.
func (e *Engine) MaxMemory() int64 { return e.evict.max.Load() }

// refreshOthers recomputes the part of used memory that changes seldom.
func (e *Engine) refreshOthers() {
	m := e.MemoryUse()
	e.evict.others.Store(m.Startup + m.Scripts + m.Functions + m.Observers() + m.Backlog +
		int64(e.Sessions())*sessionBytes)
}

// countedUse returns the used memory that maxmemory bounds: all but the buffer of the
// append-only log, as in Redis. It is exact to some kilobytes for each shard.
func (e *Engine) countedUse() int64 {
	return e.store.UsedEstimate() + e.sessions.buffers.Load() + e.sessions.mail.Load() + e.evict.others.Load()
}

// SetReserve has keys evicted so many bytes before used memory reaches maxmemory, for
// memory that the process needs beside it, such as garbage that awaits collection. Where
// nothing can be evicted maxmemory holds as it is.
func (e *Engine) SetReserve(bytes int64) { e.evict.reserve.Store(bytes) }

// exceeds reports whether used memory is so large that keys have to be evicted.
func (e *Engine) exceeds() bool {
	limit := e.evict.max.Load()
	if limit == 0 {
		return false
	}
	if v := &e.evict; v.policy.Load() != nil && !v.dry.Load() {
		limit -= v.reserve.Load()
	}
	return e.countedUse() > limit
}

// exhausted reports whether used memory is beyond the limit.
func (e *Engine) exhausted() bool {
	limit := e.evict.max.Load()
	return limit != 0 && e.countedUse() > limit
}

// refuseWithoutMemory refuses a command if memory is exhausted. It makes room first, whether
// or not the command could need it, as Redis does.
func refuseWithoutMemory(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	exhausted := false
	if s.engine.exceeds() {
		s.EndCall() // the command before does not make room
		exhausted = !s.engine.makeRoom(&s.rec.group)
	}
	s.ctx.Mode.Set(commands.OutOfMemory, exhausted)
	switch {
	case !exhausted:
		return resp.None
	case s.tx.open && !cmd.Is(commands.EndsMulti), // a queue may grow without bound
		s.tx.anyRuns(cmd, args, (*commands.Command).NeedsMemory):
		return commands.ErrOOM
	}
	return resp.None
}

// stepsPerCheck is how often makeRoom evicts something between two looks at the clock, as
// in Redis.
const stepsPerCheck = 16

// makeRoom evicts keys until used memory is within the limit or, once it has evicted a
// few, the time for it is over, and reports false if memory is exhausted and there is
// nothing to evict. No shard may be locked. g is scratch space.
func (e *Engine) makeRoom(g *effects.Group) (ok bool) {
	v := &e.evict
	if !e.exceeds() {
		return true
	}
	if e.storage.Loading() || e.scripts.Busy() != nil || e.pause.on() {
		return true
	}
	if e.repl.link.Load() != nil { // its master evicts
		return true
	}
	policy := v.policy.Load()
	beganUs := e.clock.MonotonicUs()
	defer func() { e.slow.event(latency.Evict, e.clock.MonotonicUs()-beganUs) }()
	v.sinceUs.CompareAndSwap(0, max(beganUs, 1))
	shard, misses, steps := rand.IntN(store.NumShards), 0, 0
	for policy != nil && misses < store.NumShards {
		if misses++; e.evictStep(g, policy, shard) {
			misses = 0
			if !e.exceeds() {
				v.settle(e.clock.MonotonicUs())
				return true
			}
			steps++
			if steps%stepsPerCheck == 0 && e.clock.MonotonicUs()-beganUs > v.budgetUs.Load() {
				e.evictLater()
				return true
			}
		}
		shard = (shard + 1) % store.NumShards
	}
	v.dry.Store(true)
	e.refreshOthers()
	return !e.exhausted()
}

// settle ends the time for which memory has been exceeded.
func (v *eviction) settle(nowUs int64) {
	if since := v.sinceUs.Swap(0); since != 0 {
		v.exceeded.Add(max(nowUs-since, 0))
	}
}

// evictStep makes some room in a shard or in another one, and reports whether it did.
func (e *Engine) evictStep(g *effects.Group, policy *store.Eviction, shard int) bool {
	other := (shard + 1 + rand.IntN(store.NumShards-1)) % store.NumShards
	held := store.OneShard(shard) | store.OneShard(other)
	if !e.store.LockOrCancel(held, e.scripts.BusyChange()) {
		return false
	}
	defer e.store.Unlock(held)
	if e.locks.torn.has(held) || e.repl.link.Load() != nil { // it has become a replica since
		return false
	}
	nowMs := e.clock.NowUs() / 1000
	removed, evicted := 0, 0
	e.recordStep(g, held, nowMs, func() {
		removed, evicted = e.store.Evict([2]int{shard, other}, policy, nowMs, rand.Uint64N)
	})
	e.evict.evicted.Add(int64(evicted))
	return removed > 0
}

// evictLater goes on making room a millisecond later, if there are timers.
func (e *Engine) evictLater() {
	if e.options.After == nil || !e.evict.running.CompareAndSwap(false, true) {
		return
	}
	e.options.After(1, func() {
		e.evict.running.Store(false)
		e.evictSome()
	})
}

// evictSome makes room in the background.
func (e *Engine) evictSome() {
	e.refreshOthers()
	e.evict.dry.Store(false)
	var g effects.Group
	e.makeRoom(&g)
	if !e.exceeds() {
		e.evict.settle(e.clock.MonotonicUs())
	}
}

// exceededUs returns for how long memory was exceeded in total, and for how long it is
// now.
func (v *eviction) exceededUs(nowUs int64) (total, current int64) {
	if since := v.sinceUs.Load(); since != 0 {
		current = max(nowUs-since, 0)
	}
	return v.exceeded.Load() + current, current
}
