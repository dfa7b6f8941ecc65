package stats

import (
	"sync"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/store"
)

// A Sampler counts what the keyspace holds, by kind. Each Tick visits its share of
// keysPerSecond keys, a slice at a time under the lock of one shard, and yields now
// and then. A round through all shards becomes the sample that INFO and metrics show
// until the next round has ended. A round begins at most once in roundUs, so the
// sample is up to two seconds old, and older by how long a round takes: 100 s for a
// million keys. A key that changes during a round may be counted before or after.
type Sampler struct {
	store *store.Store
	clock *clock.Clock
	busy  func() <-chan struct{} // see Init
	yield func()                 // see store.Yielder

	mu      sync.Mutex // held during a step
	counts  rl.KindCounts
	shard   int
	cursor  uint64
	began   bool
	beganUs int64 // when the present round began, on the monotonic clock

	shown  sync.Mutex // protects sample; never held across a lock of a shard
	sample Sample
}

// Init must be called before the first Tick. busy returns a channel that is closed when a script passes
// busy-reply-threshold: the Sampler then stops waiting for a shard.
func (x *Sampler) Init(s *store.Store, c *clock.Clock, busy func() <-chan struct{}, yield func()) {
	x.store, x.clock, x.busy, x.yield = s, c, busy, yield
}

// A Sample is what the keyspace held when a round ended.
type Sample struct {
	By      []rl.KindCount // by rl.Kind; nil if there was no round
	Taken   bool           // there was a round
	TakenUs int64          // its end, on the clock's monotonic source
}

const (
	// keysPerSecond is how many keys are visited in a second. Each comes from memory,
	// which takes about a microsecond, so the Sampler takes a hundredth of one
	// processor, however many keys there are.
	keysPerSecond = 10_000
	keysPerYield  = 512
	sampleSlice   = 128 // keys and buckets under one lock: some tens of microseconds
	roundUs       = 1_000_000
)

// step visits a slice and returns how many keys it has visited. It reports whether
// the round has ended, and ok false if a script past the threshold is in the way.
func (x *Sampler) step() (visited int, ended, ok bool) {
	shard := store.OneShard(x.shard)
	if !x.store.LockOrCancel(shard, x.busy()) {
		return 0, false, false
	}
	x.cursor = x.store.ScanShard(x.shard, x.cursor, sampleSlice, x.clock.NowUs()/1000, func(n *store.Node) {
		x.counts.Add(n)
		visited++
	})
	x.store.Unlock(shard)
	if x.cursor != 0 {
		return max(visited, sampleSlice/2), false, true // expired keys took time, too
	}
	if x.shard++; x.shard < store.NumShards {
		return visited, false, true
	}
	x.shard = 0
	sample := Sample{By: x.counts.Drain(), Taken: true, TakenUs: x.clock.MonotonicUs()}
	x.shown.Lock()
	defer x.shown.Unlock()
	x.sample = sample
	return visited, true, true
}

// Tick goes on with a round, or begins one if the last is old. It is called hz times
// a second.
func (x *Sampler) Tick(hz int) {
	if !x.mu.TryLock() {
		return // Take is counting
	}
	defer x.mu.Unlock()
	if nowUs := x.clock.MonotonicUs(); x.shard == 0 && x.cursor == 0 {
		if x.began && nowUs-x.beganUs < roundUs {
			return
		}
		x.began, x.beganUs = true, nowUs
	}
	share := keysPerSecond / max(hz, 1)
	y := store.Yielder{Every: keysPerYield, Yield: x.yield}
	for share > 0 {
		visited, ended, ok := x.step()
		if ended || !ok {
			return
		}
		share -= visited
		y.Add(visited)
	}
}

// Take makes a whole round now, in the same small slices, without yielding, and
// returns the sample. If a script past busy-reply-threshold is in the way it returns
// the last one.
func (x *Sampler) Take() Sample {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shard, x.cursor = 0, 0
	x.counts.Drain()
	for ended, ok := false, true; ok && !ended; {
		_, ended, ok = x.step()
	}
	return x.Last()
}

// Last returns the last sample.
func (x *Sampler) Last() Sample {
	x.shown.Lock()
	defer x.shown.Unlock()
	return x.sample
}
