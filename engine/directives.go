package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/policies"
)

// directives are the configuration, and what commands need of it.
type directives struct {
	*config.View
	settings atomic.Pointer[commands.Settings]
	policies policies.Policies

	refreshing sync.Mutex // held while settings are replaced
}

// refresh derives the settings of commands.
func (d *directives) refresh(topSampling uint32, prefixes commands.PrefixIndex, evictsByUse bool) {
	d.refreshing.Lock()
	defer d.refreshing.Unlock()
	d.settings.Store(&commands.Settings{
		ProtoMaxBulkLen:      d.Int("proto-max-bulk-len"),
		HashMaxListpackCount: d.Int("hash-max-listpack-entries"),
		HashMaxListpackValue: d.Int("hash-max-listpack-value"),
		SetMaxIntsetCount:    d.Int("set-max-intset-entries"),
		ZSetMaxListpackCount: d.Int("zset-max-listpack-entries"),
		ZSetMaxListpackValue: d.Int("zset-max-listpack-value"),
		RLLogMaxUnits:        d.Int("rl-log-max-units"),
		RLMaxWaiting:         d.Int("rl-max-waiting"),
		RDBCompression:       d.Bool("rdbcompression"),
		LimiterAware:         d.String("maxmemory-policy") == "limiter-aware",
		EvictsByUse:          evictsByUse,
		Cluster:              d.Bool("cluster-enabled"),
		TopSampling:          topSampling,
		StatsPrefixes:        prefixes,
		Policies:             d.policies.Set(),
	})
}

// followPolicies makes the policies those of commands that begin from now on.
func (d *directives) followPolicies() {
	d.refreshing.Lock()
	defer d.refreshing.Unlock()
	settings := *d.settings.Load()
	settings.Policies = d.policies.Set()
	d.settings.Store(&settings)
}
