package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// prefixes makes changes of rl-max-keys-per-prefix take effect; see docs/adr/0035.
type prefixes struct {
	mu   sync.Mutex // protects walk; held while a shard is locked, never the other way around
	walk store.PrefixWalk

	// sweptMs is an instant, in unix milliseconds, by which every key has been
	// reclaimed that had expired by then.
	sweptMs atomic.Int64
}

// followPrefixes sets the limits, now and whenever they change. Those of the start have
// no keys to count.
func (e *Engine) followPrefixes() {
	set := func() {
		var limits []store.PrefixLimit
		for _, l := range e.cfg.KeyLimits("rl-max-keys-per-prefix") {
			limits = append(limits, store.PrefixLimit{Prefix: l.Prefix, Max: l.Keys})
		}
		e.store.SetPrefixLimits(limits)
	}
	set()
	e.cfg.OnChange("rl-max-keys-per-prefix", set)
	e.countAllPrefixes()
}

// countAllPrefixes makes the limits take effect if they were changed, and returns when
// they have. The caller must hold no shard. What a script past busy-reply-threshold
// holds is left to Tick.
func (e *Engine) countAllPrefixes() {
	if e.store.PrefixesCounted() || e.storage.Loading() {
		return
	}
	e.prefixes.mu.Lock()
	defer e.prefixes.mu.Unlock()
	y := store.Yielder{Every: keysPerYield, Yield: e.options.Pause}
	for e.countPrefixStep(&y) {
	}
}

// countPrefixes is countAllPrefixes for a Tick: it leaves what is too much to the next
// one.
func (e *Engine) countPrefixes() {
	if e.store.PrefixesCounted() || e.storage.Loading() || !e.prefixes.mu.TryLock() {
		return
	}
	defer e.prefixes.mu.Unlock()
	y := store.Yielder{Every: keysPerYield, Yield: e.options.Pause}
	for y.Yields < yieldsPerTick && e.countPrefixStep(&y) {
	}
}

// countPrefixStep locks one shard and counts a few keys. It reports whether the walk goes
// on. It requires prefixes.mu.
func (e *Engine) countPrefixStep(y *store.Yielder) (more bool) {
	shard, more := e.prefixes.walk.Next(e.store)
	if !more {
		return false
	}
	held := store.OneShard(shard)
	if !e.store.LockOrCancel(held, e.scripts.BusyChange()) {
		return false
	}
	examined := e.prefixes.walk.Step(e.store)
	e.store.Unlock(held)
	y.Add(examined)
	return true
}

// reclaimPrefix reclaims keys that had expired at nowMs, all of them or until there is room
// under a prefix, and reports whether there is. A second call at the same instant has
// nothing to reclaim, so a flood of refused calls costs other sessions at most one pass
// over the shards in a millisecond.
func (e *Engine) reclaimPrefix(p *store.Prefix, nowMs int64, all bool) bool {
	if !all && p.HasRoom() || e.prefixes.sweptMs.Load() >= nowMs || e.storage.Loading() {
		return p.HasRoom()
	}
	var g effects.Group
	y := store.Yielder{Every: keysPerYield, Yield: e.options.Pause}
	for shard := range store.NumShards {
		for more := true; more; {
			var examined int
			if examined, more = e.reclaimStep(&g, shard); !all && p.HasRoom() {
				return true
			}
			y.Add(examined)
		}
	}
	e.prefixes.sweptMs.Store(nowMs)
	return p.HasRoom()
}

// executeAgain is called when a command was refused because a prefix is full. Keys
// count until they are reclaimed: so it reclaims what has expired, and runs the command
// again if there is room then. It first reclaims as little as makes room for one key,
// and if the command needs more, everything.
func (k keyspace) executeAgain(
	shards store.ShardSet, cmd *commands.Command, args [][]byte, reply resp.Value,
) resp.Value {
	s := k.session
	c := &s.ctx
	for _, all := range [...]bool{false, true} {
		full := c.Full
		c.Full, c.Retry = nil, false
		if !s.engine.reclaimPrefix(full, c.NowMs, all) {
			full.Refuse()
			if s.ctx.Env.Shown() {
				s.seen.showTrace() // end did not, because of Retry
			}
			break
		}
		c.Mode.Set(commands.Final, all)
		reply = k.executeIn(shards, cmd, args)
		c.Mode.Set(commands.Final, false)
		if c.Full == nil {
			break
		}
	}
	return reply
}
