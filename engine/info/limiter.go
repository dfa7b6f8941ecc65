package info

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
)

// writeLimiter shows the decisions since the start or CONFIG RESETSTAT, by algorithm
// and by command, and what the keyspace held at the last sample.
func writeLimiter(f *Facts, w *writer) {
	by := f.Stats.Decisions()
	var all commands.Decisions
	for i := range by {
		all.Add(&by[i])
	}
	w.put("limiter_allowed", all.Allowed)
	w.put("limiter_denied", all.Denied)
	w.put("limiter_peeked", all.Peeked)
	w.put("limiter_units", all.Units)
	writePrefixes(&f.Limiter, w)
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

	held := f.Limiter.Held
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
		age = (f.MonotonicUs - held.TakenUs) / 1000
	}
	w.put("held_age_ms", age)
}

// maxPrefixes is how many prefixes INFO shows; metrics show all.
const maxPrefixes = 100

// writePrefixes shows the prefixes with a limit, in the order of their names.
func writePrefixes(l *LimiterFacts, w *writer) {
	if len(l.Prefixes) == 0 {
		return
	}
	w.put("limiter_prefixes", len(l.Prefixes))
	w.put("limiter_prefixes_counting", flag(l.Counting))
	for i, p := range l.Prefixes[:min(len(l.Prefixes), maxPrefixes)] {
		w.put(fmt.Sprint("limiter_prefix", i),
			fmt.Sprintf("keys=%d,max=%d,refused=%d,prefix=%s", p.Keys, p.Max, p.Refused, p.Prefix))
	}
}
