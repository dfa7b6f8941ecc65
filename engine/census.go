package engine

import (
	"sync"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// census counts what the keyspace holds. It is taken on the way: each Tick looks
// at up to censusTick keys, a slice at a time under the lock of one shard, and a
// round that has come through all shards is what INFO and metrics show until the
// next one has. A round begins at most once in censusPauseUs, so what is shown is
// some seconds old: at ten ticks a second a second and the time of one round,
// another one for each hundred thousand keys. A key that changes during a round
// may be counted before or after.
type census struct {
	mu      sync.Mutex // held by whoever takes a step
	counts  commands.Census
	shard   int
	cursor  uint64
	began   bool
	beganUs int64 // when the present round began, on the monotonic clock

	shown sync.Mutex // protects held and takenUs; never held across a lock of a shard
	held  Held
}

// Held is what the keyspace held when it was last counted.
type Held struct {
	By      [commands.NumKinds]commands.Held
	Taken   bool  // at all
	TakenUs int64 // when, on the clock's monotonic source
}

const (
	censusTick    = 10_000
	censusSlice   = 128 // nodes under one lock: some tens of microseconds
	censusPauseUs = 1_000_000
)

// step looks at up to limit keys more and reports whether a round has ended.
func (e *Engine) step(limit int) (ended bool) {
	x := &e.census
	for ; limit > 0; limit -= censusSlice {
		shard := store.ShardSet(1) << x.shard
		if !e.store.LockUnless(shard, e.scripts.BusyChange()) {
			return false // a script past the threshold has it: later
		}
		x.cursor = e.store.ScanShard(x.shard, x.cursor, censusSlice, e.clock.NowUs()/1000, x.counts.Add)
		e.store.Unlock(shard)
		if x.cursor != 0 {
			continue
		}
		if x.shard++; store.ShardSet(1)<<x.shard == 0 {
			x.shard = 0
			x.show(e.clock.MonotonicUs())
			return true
		}
	}
	return false
}

// show makes the round that has ended what others see.
func (x *census) show(nowUs int64) {
	x.shown.Lock()
	x.held = Held{By: x.counts.By, Taken: true, TakenUs: nowUs}
	x.shown.Unlock()
	x.counts.Reset()
}

// count goes on with the census, or begins a new one where the last is old.
func (e *Engine) count() {
	x := &e.census
	if !x.mu.TryLock() {
		return // TakeCensus is at it
	}
	defer x.mu.Unlock()
	if nowUs := e.clock.MonotonicUs(); x.shard == 0 && x.cursor == 0 {
		if x.began && nowUs-x.beganUs < censusPauseUs {
			return
		}
		x.began, x.beganUs = true, nowUs
	}
	e.step(censusTick)
}

// TakeCensus counts the whole keyspace now, in the same small slices. It gives
// up where a script past busy-reply-threshold is in the way, as it does by
// itself.
func (e *Engine) TakeCensus() Held {
	x := &e.census
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shard, x.cursor = 0, 0
	x.counts.Reset()
	for !e.step(censusTick) && e.scripts.Busy() == nil {
	}
	return e.Held()
}

// Held returns what the last census has found.
func (e *Engine) Held() Held {
	e.census.shown.Lock()
	defer e.census.shown.Unlock()
	return e.census.held
}
