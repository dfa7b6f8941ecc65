package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
)

// infoLimiter shows the decisions since the start or CONFIG RESETSTAT, by algorithm
// and by command, and what the keyspace held at the last sample.
func infoLimiter(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	by := e.stats.Decisions()
	var all commands.Decisions
	for i := range by {
		all.Add(&by[i])
	}
	w.put("limiter_allowed", all.Allowed)
	w.put("limiter_denied", all.Denied)
	w.put("limiter_peeked", all.Peeked)
	w.put("limiter_units", all.Units)
	infoPrefixes(e, w)
	decisions := func(field string, belongs func(d commands.Decider) string) {
		for d := range commands.Decider(commands.NumDeciders()) {
			sum, first := commands.Decisions{}, true
			for o := range commands.Decider(commands.NumDeciders()) {
				if belongs(o) == belongs(d) {
					first = first && o >= d
					sum.Add(&by[o])
				}
			}
			if first {
				w.put(field+belongs(d), fmt.Sprintf("allowed=%d,denied=%d,peeked=%d,units=%d", sum.Allowed,
					sum.Denied, sum.Peeked, sum.Units))
			}
		}
	}
	decisions("algorithm_", commands.Decider.Algorithm)
	decisions("command_", commands.Decider.Command)

	held := e.sampler.Last()
	var sum commands.KindCount
	for k, h := range held.By {
		if h.Keys > 0 {
			w.put("held_"+commands.Kind(k).String(),
				fmt.Sprintf("keys=%d,hits=%d,bytes=%d", h.Keys, h.Hits, h.Bytes))
		}
		sum.Keys += h.Keys
		sum.Hits += h.Hits
		sum.Bytes += h.Bytes
	}
	w.put("held_keys", sum.Keys)
	w.put("held_hits", sum.Hits)
	w.put("held_bytes", sum.Bytes)
	age := int64(-1)
	if held.Taken {
		age = (e.clock.MonotonicUs() - held.TakenUs) / 1000
	}
	w.put("held_age_ms", age)
}
