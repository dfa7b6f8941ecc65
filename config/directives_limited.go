package config

import "math"

// limitedDirectives are those that clients ask for, or that a caller would
// rely on, and of which only one value is true of zlimit today.
var limitedDirectives = []Directive{
	{
		Name: "maxmemory", Kind: KindMemory, Default: "0", Max: math.MaxInt64,
		Only: []string{"0"}, Refusal: "zlimit has no memory limit: only 0 is accepted",
		About: "Only 0: zlimit has no memory limit.",
	},
	{
		Name: "maxmemory-policy", Kind: KindEnum, Default: "noeviction",
		Values: []string{"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"},
		Only:   []string{"noeviction"}, Refusal: "zlimit evicts no keys: only 'noeviction' is accepted",
		About: "Only noeviction: zlimit evicts no keys.",
	},
	{
		Name: "cluster-enabled", Kind: KindBool, Default: "no", Immutable: true,
		Only: []string{"no"}, Refusal: "zlimit is not a cluster node: only 'no' is accepted",
		About: "Only no: zlimit is not a cluster node.",
	},
	{
		Name: "notify-keyspace-events", Kind: KindEvents,
		Only: []string{""}, Refusal: `zlimit sends no keyspace events: only "" is accepted`,
		About: `Only "": zlimit sends no keyspace events.`,
	},
	{
		Name: "oom-score-adj", Kind: KindEnum, Default: "no", Values: []string{"no", "yes", "relative", "absolute"},
		Only: []string{"no"}, Refusal: "zlimit does not set its OOM score: only 'no' is accepted",
		About: "Only no: zlimit leaves its OOM score to whoever starts it.",
	},
	{
		Name: "oom-score-adj-values", Kind: KindList, Default: "0 200 800",
		Only: []string{"0 200 800"}, Refusal: "zlimit does not set its OOM score: only '0 200 800' is accepted",
		About: "Only what Redis has by default: zlimit does not set its OOM score.",
	},
}
