package info

import (
	"strconv"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/policies"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/words"
)

// maxPrefixes is how many prefixes INFO shows; metrics show all.
const maxPrefixes = 100

// limiterRows show the decisions since the start or CONFIG RESETSTAT, and what the keyspace held at the
// last sample.
var limiterRows = []row{
	family("limiter_", func(f *Facts, put put) {
		for _, p := range counts(stats.Total(f.Stats.Decisions())) {
			put(p.key, p.value)
		}
	}, extra("What limiters decided, and the keys under rl-max-keys-per-prefix.", "*")),
	family("limiter_prefix", func(f *Facts, put put) {
		prefixes := f.Store.PrefixFigures()
		if len(prefixes) > 0 {
			put("es", len(prefixes))
			put("es_counting", !f.Store.PrefixesCounted())
		}
		for i, p := range prefixes {
			suffix, name := strconv.Itoa(i), words.Spell(p.Prefix)
			if i >= maxPrefixes {
				suffix = hidden
			}
			put(suffix, pairs{
				{"keys", p.Keys}, {"max", p.Max}, {"refused", p.Refused}, {"prefix", name},
			}, name)
		}
	}, gauge("zlimit_prefix_keys", "Keys under a prefix of rl-max-keys-per-prefix.", "prefix").of("keys"),
		gauge("zlimit_prefix_max_keys", "Keys that RL commands may create under a prefix.", "prefix").
			of("max"),
		counter("zlimit_prefix_refused_total", "Calls refused because a prefix was full.", "prefix").
			of("refused")),
	family("policy", func(f *Facts, put put) {
		figures := f.Policies.Figures(policies.MaxFigures)
		for i := range figures {
			p, suffix := &figures[i], strconv.Itoa(i)
			if i >= maxPrefixes {
				suffix = hidden
			}
			name := words.Spell(p.Name)
			put(suffix, pairs{
				{"allowed", p.Allowed},
				{"denied", p.Denied},
				{"shadow", p.Shadow},
				{"units", p.Units},
				{"mode", p.Mode},
				{"policy", name},
			}, name, p.Mode)
		}
	}, counter("zlimit_policy_decisions_total",
		"Decisions of RL.CHECK, by policy of rl-policies, its mode and the result; shadow: admitted, "+
			"although the limit denied it.", "policy", "mode", "result").of("allowed", "denied", "shadow"),
		counter("zlimit_policy_units_total",
			"Units that RL.CHECK has granted, by policy of rl-policies and its mode.",
			"policy", "mode").of("units")),
	family("algorithm_", func(f *Facts, put put) {
		for _, s := range stats.SumBy(f.Stats.Decisions(), rl.Decider.Algorithm) {
			put(s.Name, counts(&s.Decisions), s.Name)
		}
	}, counter("rate_limit_allowed_total", "Admitted calls, by algorithm.", "algorithm").of("allowed"),
		counter("rate_limit_rejected_total", "Denied calls, by algorithm.", "algorithm").of("denied"),
		counter("rate_limit_units_total", "Granted units, by algorithm.", "algorithm").of("units"),
		extra("What limiters decided, by algorithm.", "*")),
	family("command_", func(f *Facts, put put) {
		for _, s := range stats.SumBy(f.Stats.Decisions(), rl.Decider.Command) {
			put(s.Name, counts(&s.Decisions))
		}
	}, extra("What limiters decided, by command.", "*")),
	family("", putDecisions,
		counter("zlimit_decisions_total",
			"Decisions, by algorithm, prefix of rl-stats-prefix (empty: none) and result.",
			"algorithm", "prefix", "result").of("allowed", "denied", "peeked", "shadow"),
		counter("zlimit_decision_units_total",
			"Granted units, by algorithm and prefix of rl-stats-prefix (empty: none).",
			"algorithm", "prefix").of("units"),
		histogram("zlimit_decision_fullness_ratio",
			"How full limits are after decisions, by algorithm and prefix of rl-stats-prefix (empty: none).",
			"algorithm", "prefix").of("fullness")),
	family("held_", putHeld,
		gauge("zlimit_keys", "Keys in the last sample, by kind of value.", "kind").of("keys"),
		gauge("zlimit_hits", "Units in the last sample, by algorithm.", "kind").of("hits"),
		gauge("zlimit_held_bytes", "Approximate bytes of keys and values in the last sample.", "kind").
			of("bytes"),
		extra("What limiters hold.", "*")),
	family("held_", putHeldSum),
	fact("held_age_ms", func(f *Facts) any {
		held := f.Stats.Sampler.Last()
		if !held.Taken {
			return word{-1, nil}
		}
		us := f.MonotonicUs - held.TakenUs
		return word{us / 1000, usec(us)}
	}, gauge("zlimit_sample_age_seconds", "Age of the last sample.")),
	family("", func(f *Facts, put put) {
		for _, t := range f.Doctor.Totals() {
			put("", t.Count, t.Problem)
		}
	}, counter("zlimit_doctor_findings_total",
		"Mistakes of hand-written limiters, found by rl-doctor.", "problem")),
}

// counts returns decisions as INFO shows them.
func counts(d *rl.Decisions) pairs {
	return pairs{
		{"allowed", d.Allowed},
		{"denied", d.Denied},
		{"peeked", d.Peeked},
		{"units", d.Units},
		{"shadow", d.Shadow},
	}
}

// putDecisions puts the decisions by algorithm and by prefix of rl-stats-prefix.
func putDecisions(f *Facts, put put) {
	prefixes, none, _ := f.Stats.DecisionsByPrefix()
	for i := range prefixes {
		prefixes[i].Prefix = words.Spell(prefixes[i].Prefix)
	}
	for _, p := range append(prefixes, stats.PrefixDecisions{By: none}) {
		for _, s := range stats.SumBy(p.By, rl.Decider.Algorithm) {
			put("", append(counts(&s.Decisions), pair{"fullness", fullness(&s.Fullness)}), s.Name, p.Prefix)
		}
	}
}

// fullness returns a Histogram, or nil if there were no decisions.
func fullness(counted *rl.Fullness) any {
	h := Histogram{Sum: counted.Sum, Buckets: map[float64]uint64{}}
	for i, n := range counted.Buckets {
		h.Count += uint64(n)
		h.Buckets[float64(i+1)/rl.FullnessBuckets] = h.Count
	}
	if h.Count == 0 {
		return nil
	}
	return h
}

// putHeld puts what the keyspace held, by kind of value.
func putHeld(f *Facts, put put) {
	for k, h := range f.Stats.Sampler.Last().By {
		kind, hits := rl.Kind(k), word{h.Hits, nil}
		if kind.CountsHits() {
			hits.metric = h.Hits
		}
		suffix := kind.String()
		if h.Keys == 0 {
			suffix = hidden
		}
		put(suffix, pairs{{"keys", h.Keys}, {"hits", hits}, {"bytes", h.Bytes}}, kind.String())
	}
}

func putHeldSum(f *Facts, put put) {
	var sum rl.KindCount
	for _, h := range f.Stats.Sampler.Last().By {
		sum.Keys += h.Keys
		sum.Hits += h.Hits
		sum.Bytes += h.Bytes
	}
	put("keys", sum.Keys)
	put("hits", sum.Hits)
	put("bytes", sum.Bytes)
}
