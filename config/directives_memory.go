package config

import "math"

// memoryDirectives are those of the memory limit and of eviction.
var memoryDirectives = []Directive{
	{
		Name: "maxmemory", Kind: KindMemory, Default: "0", Max: math.MaxInt64,
		About: "Bytes of used memory beyond which keys are evicted or commands refused, by " +
			"maxmemory-policy; 0 means no limit.",
	},
	{
		Name: "maxmemory-policy", Kind: KindEnum, Default: "noeviction",
		Values: []string{
			"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru",
			"allkeys-lfu", "allkeys-random", "noeviction", "limiter-aware",
		},
		About: "Which keys to evict; limiter-aware evicts those furthest below their limit first and those " +
			"that deny last (docs/eviction.md).",
	},
	{
		Name: "maxmemory-samples", Kind: KindInt, Default: "5", Min: 1, Max: math.MaxInt32,
		About: "How many keys to compare for each that is evicted.",
	},
	{
		Name: "maxmemory-eviction-tenacity", Kind: KindInt, Default: "10", Max: 100,
		About: "How long a command may evict keys before it runs: 10 means half a millisecond, 100 means " +
			"as long as it takes.",
	},
	{
		Name: "lfu-log-factor", Kind: KindInt, Default: "10", Max: math.MaxInt32,
		About: "How slowly the frequency of a key's use grows under the LFU policies.",
	},
	{
		Name: "lfu-decay-time", Kind: KindInt, Default: "1", Max: math.MaxInt32,
		About: "Minutes in which that frequency falls by one; 0 means never.",
	},
}
