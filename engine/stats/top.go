package stats

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/stats/topk"
	"github.com/zlimit/zlimit/limiter"
)

// Top implements rl.TopKeys by sketches. Each key belongs to one shard by its name,
// so that no count is in two sketches. The counts are of names: they outlive the key,
// since limiters' keys come and go.
type Top struct {
	// sampled is read at each decision, so it has cache lines of its own.
	sampled atomic.Bool // the present slot has had exactPerSlot decisions
	_       [120]byte
	slot    atomic.Int64 // of time, in units of topk.SlotMs
	added   atomic.Int64 // how many decisions were added in it

	shards   [topShards]topShard
	bytes    atomic.Int64 // of all rings
	sampling atomic.Uint32
}

// exactPerSlot is how many decisions of a slot of time are added one by one, before a sample is.
const exactPerSlot = 1000

// topShards is over how many locks the counts are spread.
const topShards = 8

type topShard struct {
	mu      sync.Mutex
	decided *topk.Ring // protected by mu, as the others; nil: nothing was counted
	denied  *topk.Ring // nil: nothing was denied
	skipped [2]int64   // decisions about keys with long names, and of them those denied
	fromMs  int64      // the first decision
	bytes   int64      // of the rings, as Top.bytes has it
	_       [64]byte   // keeps neighbours out of each other's cache lines
}

// MaxTopEntries is the most keys that a Top holds, each with a name of at most
// rl.MaxTopKey bytes.
const MaxTopEntries = 2 * topShards * topk.MaxEntries

// Exact implements rl.TopKeys.
func (t *Top) Exact() bool { return !t.sampled.Load() }

// count counts an addition, and decides whether the next ones are to be sampled. A slot that begins
// while they are is noticed by the first that is in the sample.
func (t *Top) count(nowMs int64) {
	if slot := nowMs / topk.SlotMs; t.slot.Load() != slot {
		t.slot.Store(slot)
		t.added.Store(0)
		t.sampled.Store(false)
	}
	if t.added.Add(1) == exactPerSlot {
		t.sampled.Store(true)
	}
}

// Add implements rl.TopKeys.
func (t *Top) Add(nowMs int64, db int, key []byte, denied bool, weight int64, q limiter.Quota) {
	t.count(nowMs)
	hash := topk.Hash(key)
	s := &t.shards[hash%topShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fromMs == 0 {
		s.fromMs = nowMs
	}
	if len(key) > rl.MaxTopKey {
		s.skipped[0] += weight
		if denied {
			s.skipped[1] += weight
		}
		return
	}
	last := [2]int64{q.Limit, q.WindowMs}
	if s.decided == nil {
		s.decided = topk.NewRing()
	}
	s.decided.Add(nowMs, hash, db, key, weight, last)
	if denied {
		if s.denied == nil {
			s.denied = topk.NewRing()
		}
		s.denied.Add(nowMs, hash, db, key, weight, last)
	}
	t.recount(s)
}

// recount updates the memory that a shard takes. It requires the shard's mu.
func (t *Top) recount(s *topShard) {
	now := int64(0)
	for _, ring := range []*topk.Ring{s.decided, s.denied} {
		if ring != nil {
			now += ring.Bytes()
		}
	}
	if now != s.bytes {
		t.bytes.Add(now - s.bytes)
		s.bytes = now
	}
}

// Bytes returns about how much memory the counts take.
func (t *Top) Bytes() int64 { return t.bytes.Load() }

// Top implements rl.TopKeys.
func (t *Top) Top(q *rl.TopQuery) rl.TopReport {
	var keys []rl.TopKey
	var total, sampled, others, skipped, fromMs int64
	for i := range t.shards {
		sum, sumFromMs, sumSkipped := t.sum(&t.shards[i], q)
		skipped += sumSkipped
		if sumFromMs != 0 && (fromMs == 0 || sumFromMs < fromMs) {
			fromMs = sumFromMs
		}
		if sum == nil {
			continue
		}
		total += sum.Total()
		sampled += sum.Sampled()
		others = max(others, sum.Absent())
		for _, e := range sum.Entries() {
			if e.DB == q.DB && q.Keep(e.Name) {
				keys = append(keys, rl.TopKey{
					Name: e.Name, Count: e.Count, Error: e.Error,
					Last: limiter.Quota{Limit: e.Last[0], WindowMs: e.Last[1]},
				})
			}
		}
	}
	r := rl.NewTopReport(keys, q.N, others)
	r.Total, r.Sampled, r.Skipped, r.FromMs = total, sampled, skipped, fromMs
	return r
}

// sum returns what a shard has counted, the first instant of it (0: there is none), and
// the decisions that it has skipped since it was reset.
func (t *Top) sum(s *topShard, q *rl.TopQuery) (sum *topk.Sketch, fromMs, skipped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ring, skipped := s.decided, s.skipped[0]
	if q.Denied {
		ring, skipped = s.denied, s.skipped[1]
	}
	switch {
	case ring == nil:
		return nil, s.fromMs, skipped
	case q.WithinMs == 0:
		return ring.Whole(), s.fromMs, skipped
	}
	sum, fromMs = ring.Window(q.NowMs, q.WithinMs)
	t.recount(s) // a slot may have ended
	return sum, max(fromMs, s.fromMs), skipped
}

// SetSampling says how many decisions one that is added stands for, 0 if none are. The counts start anew
// when that changes: they are of one sampling rate.
func (t *Top) SetSampling(n uint32) {
	if t.sampling.Swap(n) != n {
		t.Reset()
	}
}

// Sampling returns what SetSampling was given.
func (t *Top) Sampling() uint32 { return t.sampling.Load() }

// Reset forgets everything.
func (t *Top) Reset() {
	t.added.Store(0)
	t.sampled.Store(false)
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		s.decided, s.denied, s.skipped, s.fromMs = nil, nil, [2]int64{}, 0
		t.recount(s)
		s.mu.Unlock()
	}
}

// Entries returns how many keys are held, at most MaxTopEntries.
func (t *Top) Entries() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for _, ring := range []*topk.Ring{s.decided, s.denied} {
			if ring != nil {
				n += ring.Entries()
			}
		}
		s.mu.Unlock()
	}
	return n
}
