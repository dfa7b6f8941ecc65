package engine

import (
	"sync"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// census counts what the keyspace holds. It is taken on the way: each Tick looks
// at its share of censusPerSecond keys, a slice at a time under the lock of one
// shard, and rests now and then; a round that has come through all shards is what
// INFO and metrics show until the next one has. A round begins at most once in
// censusPauseUs, so what is shown is up to two seconds old, and older by how long a
// round takes: 100 s for a million keys. A key that changes during a round may be
// counted before or after.
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
	By      []commands.Held // by commands.Kind; nil where nothing was taken
	Taken   bool            // at all
	TakenUs int64           // when, on the clock's monotonic source
}

const (
	// censusPerSecond is how many keys are looked at in a second. Each is waited for
	// until it comes from memory, about a microsecond: this takes a hundredth of one
	// processor, however much there is to count.
	censusPerSecond = 10_000
	censusSlice     = 128 // keys and buckets under one lock: some tens of microseconds
	censusPauseUs   = 1_000_000
)

// step looks at a slice more, at so many keys, and reports whether a round has
// ended with it. ok is false where a script past the threshold is in the way.
func (e *Engine) step() (looked int, ended, ok bool) {
	x := &e.census
	shard := store.ShardSet(1) << x.shard
	if !e.store.LockUnless(shard, e.scripts.BusyChange()) {
		return 0, false, false
	}
	x.cursor = e.store.ScanShard(x.shard, x.cursor, censusSlice, e.clock.NowUs()/1000, func(n *store.Node) {
		x.counts.Add(n)
		looked++
	})
	e.store.Unlock(shard)
	if x.cursor != 0 {
		return max(looked, censusSlice/2), false, true // what is overdue took time, too
	}
	if x.shard++; store.ShardSet(1)<<x.shard != 0 {
		return looked, false, true
	}
	x.shard = 0
	x.show(e.clock.MonotonicUs())
	return looked, true, true
}

// show makes the round that has ended what others see.
func (x *census) show(nowUs int64) {
	held := Held{By: x.counts.Take(), Taken: true, TakenUs: nowUs}
	x.shown.Lock()
	defer x.shown.Unlock()
	x.held = held
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
	share := censusPerSecond / int(max(e.cfg.Int("hz"), 1))
	y := store.Yielder{Every: keysPerYield, Yield: e.options.Pause}
	for share > 0 {
		looked, ended, ok := e.step()
		if ended || !ok {
			return
		}
		share -= looked
		y.Add(looked)
	}
}

// TakeCensus counts the whole keyspace now, in the same small slices and without
// a rest. It gives up where a script past busy-reply-threshold is in the way, as it
// does by itself.
func (e *Engine) TakeCensus() Held {
	x := &e.census
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shard, x.cursor = 0, 0
	x.counts.Take()
	for ended, ok := false, true; ok && !ended; {
		_, ended, ok = e.step()
	}
	return e.Held()
}

// Held returns what the last census has found.
func (e *Engine) Held() Held {
	e.census.shown.Lock()
	defer e.census.shown.Unlock()
	return e.census.held
}

// Keys returns how many keys there are in all databases, those that are due and
// not yet reclaimed included. ok is false where a script past busy-reply-threshold
// is in the way.
func (e *Engine) Keys() (n int, ok bool) {
	for shard := range store.NumShards {
		one := store.ShardSet(1) << shard
		if !e.store.LockUnless(one, e.scripts.BusyChange()) {
			return 0, false
		}
		n += e.store.ShardLen(shard)
		e.store.Unlock(one)
	}
	return n, true
}
