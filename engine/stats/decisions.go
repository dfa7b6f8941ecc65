package stats

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands/rl"
)

// decisionShards is over how many places the counts of decisions are spread: an
// in-process Allow adds its one decision at once, on every processor.
const decisionShards = 16

// decisionCounts counts decisions by rl.Decider.
type decisionCounts struct{ by []deciderCounts }

type deciderCounts struct {
	allowed, denied, peeked, shadow, units atomic.Int64
	fullness                               fullnessCounts
}

// init allocates the counts, with two cache lines behind them that keep the counts
// of other processors away.
func (c *decisionCounts) init() {
	n := rl.NumDeciders()
	c.by = make([]deciderCounts, n, n+4)
}

// AddDecisions adds a session's decisions, by rl.Decider, and zeroes them.
func (s *Stats) AddDecisions(session int64, from []rl.Decisions) {
	c := &s.decisions[session%decisionShards]
	for i := range from {
		d := &from[i]
		if d.IsZero() {
			continue
		}
		c.by[i].add(d)
		*d = rl.Decisions{}
	}
}

func (c *deciderCounts) add(d *rl.Decisions) {
	for _, n := range [...]struct {
		to *atomic.Int64
		n  int64
	}{
		{&c.allowed, d.Allowed},
		{&c.denied, d.Denied},
		{&c.peeked, d.Peeked},
		{&c.shadow, d.Shadow},
		{&c.units, d.Units},
	} {
		if n.n != 0 {
			n.to.Add(n.n)
		}
	}
	c.fullness.add(&d.Fullness)
}

func (c *decisionCounts) reset() {
	for i := range c.by {
		by := &c.by[i]
		for _, n := range []*atomic.Int64{&by.allowed, &by.denied, &by.peeked, &by.shadow, &by.units} {
			n.Store(0)
		}
		by.fullness.reset()
	}
}

// Decisions returns the sums of all sessions, by rl.Decider.
func (s *Stats) Decisions() []rl.Decisions { return sumDecisions(s.decisions[:]) }

func sumDecisions(counts []decisionCounts) []rl.Decisions {
	sum := make([]rl.Decisions, rl.NumDeciders())
	for i := range counts {
		for by := range sum {
			d := &counts[i].by[by]
			sum[by].Add(&rl.Decisions{
				Allowed: d.allowed.Load(), Denied: d.denied.Load(), Peeked: d.peeked.Load(),
				Shadow: d.shadow.Load(), Units: d.units.Load(), Fullness: d.fullness.load(),
			})
		}
	}
	return sum
}

// Total returns the sum of decisions.
func Total(by []rl.Decisions) *rl.Decisions {
	sum := new(rl.Decisions)
	for i := range by {
		sum.Add(&by[i])
	}
	return sum
}

// A Sum is the decisions of the deciders of one name.
type Sum struct {
	Name string
	rl.Decisions
}

// SumBy returns the sums of decisions by a name of their deciders, in the order of deciders.
func SumBy(by []rl.Decisions, name func(rl.Decider) string) (sums []Sum) {
	for d := range by {
		n := name(rl.Decider(d))
		i := slices.IndexFunc(sums, func(s Sum) bool { return s.Name == n })
		if i < 0 {
			i = len(sums)
			sums = append(sums, Sum{Name: n})
		}
		sums[i].Add(&by[d])
	}
	return sums
}

// fullnessCounts is a rl.Fullness that several sessions add to.
type fullnessCounts struct {
	buckets [rl.FullnessBuckets]atomic.Int64
	sum     atomic.Uint64 // the bits of a float64
}

func (c *fullnessCounts) add(h *rl.Fullness) {
	for i, n := range &h.Buckets {
		if n != 0 {
			c.buckets[i].Add(n)
		}
	}
	for h.Sum != 0 {
		old := c.sum.Load()
		if c.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+h.Sum)) {
			break
		}
	}
}

func (c *fullnessCounts) load() (h rl.Fullness) {
	for i := range c.buckets {
		h.Buckets[i] = c.buckets[i].Load()
	}
	h.Sum = math.Float64frombits(c.sum.Load())
	return h
}

func (c *fullnessCounts) reset() {
	for i := range c.buckets {
		c.buckets[i].Store(0)
	}
	c.sum.Store(0)
}
