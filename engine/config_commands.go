package engine

import (
	"errors"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/policies"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
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

const configFlags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale

// configCommand returns the row of CONFIG.
func (e *Engine) configCommand() commands.Command {
	return commands.Command{
		Name: "config", Arity: -2, Group: "server", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Returns and changes directives.",
		Subs: []commands.Command{
			{
				Name: "get", Arity: -3, Flags: configFlags,
				Group: "server", Since: "2.0.0", Complexity: "O(N)",
				Syntax: "parameter [parameter ...]", Handler: e.configGet,
				Summary: "Returns directives whose name matches a pattern.",
			},
			commands.Help("server", "5.0.0"),
			{
				Name: "resetstat", Arity: 2, Flags: configFlags | commands.AllShards,
				Group: "server", Since: "2.0.0", Complexity: "O(1)",
				Handler: e.configResetStat,
				Summary: "Sets the counters of INFO to zero.",
			},
			{
				Name: "rewrite", Arity: 2, Flags: configFlags,
				Group: "server", Since: "2.8.0", Complexity: "O(N)",
				Handler: e.configRewrite,
				Summary: "Writes the directives that have changed to the configuration file.",
				Deviation: "lines whose values have not changed stay as they are; the file keeps its " +
					"owner and mode",
			},
			{
				Name: "set", Arity: -4, Flags: configFlags,
				Group: "server", Since: "2.0.0", Complexity: "O(N)",
				Tips:   []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
				Syntax: "parameter value [parameter value ...]", Handler: e.configSet,
				Summary: "Changes directives, all or none.",
			},
		},
	}
}

// CONFIG GET parameter [parameter ...]
func (e *Engine) configGet(c *commands.Ctx) resp.Value {
	pairs := e.cfg.Get(c.Args[2:], commands.GlobMatch)
	out := make([]resp.Value, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, resp.Bulk(p.Name), resp.Bulk(p.Value))
	}
	return resp.Map(out...)
}

// CONFIG SET parameter value [parameter value ...]
func (e *Engine) configSet(c *commands.Ctx) resp.Value {
	if len(c.Args)%2 == 0 { // otherwise it is a syntax error, and nothing is hidden, as in Redis
		for at := 2; at < len(c.Args); at += 2 {
			if config.IsSensitive(string(c.Args[at])) {
				c.Redact(at + 1)
			}
		}
	}
	by := config.Setter{
		Protected: caller(c).who.allowed("enable-protected-configs"),
		Loading:   e.storage.Loading() || e.storage.Reloading(),
	}
	e.accounts.Keep() // requirepass changes one
	if err := e.cfg.SetAs(by, c.Args[2:]); err != nil {
		var refusal *config.SetError
		switch {
		case errors.Is(err, config.ErrLoading):
			return errLoading
		case errors.As(err, &refusal):
			return resp.Error(refusal.Reply())
		}
		return resp.Error("ERR " + err.Error())
	}
	if c.Unheld == store.AllShards { // otherwise the next Tick does it
		e.room.CountPrefixes()
	}
	return resp.OK
}

// CONFIG RESETSTAT
func (e *Engine) configResetStat(c *commands.Ctx) resp.Value {
	c.Store.ResetStats()
	caller(c).Count()
	e.stats.Reset()
	e.accounts.Log.ResetCounts()
	e.observers.doctor.ResetTotals()
	e.room.ResetStats()
	e.storage.ResetStats()
	e.scripts.ResetStats()
	e.repl.master.ResetCounts()
	e.repl.unexpected.Store(0)
	return resp.OK
}

var errNoConfigFile = resp.Error("ERR The server is running without a config file")

// CONFIG REWRITE
func (e *Engine) configRewrite(*commands.Ctx) resp.Value {
	err := e.rewriteConfig(e.cfg.Rewrite, disk.OS)
	switch {
	case errors.Is(err, config.ErrNoFile):
		return errNoConfigFile
	case err != nil:
		e.options.Log.Warn("CONFIG REWRITE failed", "error", err)
		return resp.Error("ERR Rewriting config file: " + resp.OneLine(disk.Strerror(err)))
	}
	e.options.Log.Info("CONFIG REWRITE executed with success")
	return resp.OK
}

// DEBUG CONFIG-REWRITE-FORCE-ALL
func (e *Engine) debugConfigRewrite(*commands.Ctx) resp.Value {
	const failed = "ERR CONFIG-REWRITE-FORCE-ALL failed: "
	err := e.rewriteConfig(e.cfg.RewriteAll, disk.OS)
	switch {
	case errors.Is(err, config.ErrNoFile):
		return resp.Error(failed + disk.Strerror(syscall.EFAULT)) // as in Redis
	case err != nil:
		return resp.Error(failed + resp.OneLine(disk.Strerror(err)))
	}
	return resp.OK
}

// A rewriter is Rewrite or RewriteAll of a config.Config.
type rewriter func(users func() []string, write func(path, text string) error) error

// rewriteConfig writes the configuration file, in the directory that open returns.
func (e *Engine) rewriteConfig(rewrite rewriter, open func(dir string) disk.FS) error {
	return rewrite(e.accounts.ConfigLines, func(path, text string) error {
		name := filepath.Base(path)
		temp := name + ".tmp-" + e.life.runID
		return disk.ReplaceFile(open(filepath.Dir(path)), name, temp, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	})
}
