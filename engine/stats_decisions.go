package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// decisionShards is over how many places the counts of decisions are spread:
// an in-process Allow adds its one decision at once, on every processor.
const decisionShards = 16

// decisionStats counts decisions, by commands.Decider.
type decisionStats struct {
	by []decisionCounts
}

type decisionCounts struct{ allowed, denied, looked, units atomic.Int64 }

// init makes room for the counts, and for two cache lines more behind them: what
// lies there is counted by other processors.
func (s *decisionStats) init() {
	n := commands.NumDeciders()
	s.by = make([]decisionCounts, n, n+4)
}

// take moves a session's decisions here.
func (s *decisionStats) take(from []commands.Decisions) {
	for i := range from {
		d := &from[i]
		if *d == (commands.Decisions{}) {
			continue
		}
		to := &s.by[i]
		for _, n := range [...]struct {
			to *atomic.Int64
			n  int64
		}{{&to.allowed, d.Allowed}, {&to.denied, d.Denied}, {&to.looked, d.Looked}, {&to.units, d.Units}} {
			if n.n != 0 {
				n.to.Add(n.n)
			}
		}
		*d = commands.Decisions{}
	}
}

func (s *decisionStats) reset() {
	for i := range s.by {
		by := &s.by[i]
		by.allowed.Store(0)
		by.denied.Store(0)
		by.looked.Store(0)
		by.units.Store(0)
	}
}

// decided sums what the sessions have handed over.
func (s *stats) decided() []commands.Decisions {
	sum := make([]commands.Decisions, commands.NumDeciders())
	for i := range s.decisions {
		for by := range sum {
			d := &s.decisions[i].by[by]
			sum[by].Add(&commands.Decisions{
				Allowed: d.allowed.Load(), Denied: d.denied.Load(), Looked: d.looked.Load(), Units: d.units.Load(),
			})
		}
	}
	return sum
}
