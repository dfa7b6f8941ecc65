package engine

import (
	"errors"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/debug"
	"github.com/zlimit/zlimit/resp"
)

const configFlags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale

// serverGroup returns the rows of CONFIG, DEBUG, INFO, LATENCY, MONITOR, SHUTDOWN and SLOWLOG.
func (e *Engine) serverGroup() []commands.Command {
	return []commands.Command{
		debug.Command(e.debugHandlers()),
		{
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
		},
		{
			Name: "info", Arity: -1, Flags: commands.Loading | commands.Stale | commands.AllShards |
				commands.Stepwise, Categories: []string{"dangerous"},
			Tips: []string{
				"nondeterministic_output", "request_policy:all_shards",
				"response_policy:special",
			},
			Group: "server", Since: "1.0.0", Complexity: "O(1)", Syntax: "[section [section ...]]",
			Handler: e.info,
			Summary: "Returns information about the server, by section.",
			Deviation: "usec is estimated from the calls that were timed, one in sixteen of short " +
				"commands; section limiter; percentiles are powers of two",
		},
		e.slow.events.Row(e.latencyHistogram),
		{
			Name: "monitor", Arity: 1, Flags: commands.Admin | commands.NoScript | commands.Loading |
				commands.Stale,
			Group: "server", Since: "1.0.0", Complexity: "O(1)", Handler: monitor,
			Summary: "Sends the connection every command that runs.",
			Deviation: "the commands of one script or EXEC have one timestamp, and those of the " +
				"connection's own scripts and EXEC follow the reply",
		},
		{
			Name: "shutdown", Arity: -1,
			Flags: commands.Admin | commands.NoScript | commands.Loading | commands.Stale | commands.NoMulti |
				commands.AllowBusy,
			Group: "server", Since: "1.0.0", Complexity: "O(1)",
			Syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]", Handler: e.shutdown,
			Summary: "Ends the process when the commands under way have finished.",
		},
		e.slow.log.Row(),
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
	set := e.cfg.Set
	if caller(c).allowed("enable-protected-configs") {
		set = e.cfg.SetProtected
	}
	if err := set(c.Args[2:]); err != nil {
		var refusal *config.SetError
		if errors.As(err, &refusal) {
			return resp.Error(refusal.Reply())
		}
		return resp.Error("ERR " + err.Error())
	}
	if !caller(c).locked { // otherwise the next Tick does it
		e.countAllPrefixes()
	}
	return resp.OK
}

// CONFIG RESETSTAT
func (e *Engine) configResetStat(c *commands.Ctx) resp.Value {
	c.Store.ResetStats()
	caller(c).flush()
	e.stats.Reset()
	e.top.Reset()
	if p := e.statsPrefixes.Load(); p != nil {
		p.Reset()
	}
	e.aclLog.ResetCounts()
	e.doctor.ResetTotals()
	e.evict.evicted.Store(0)
	e.evict.exceeded.Store(0)
	e.storage.ResetStats()
	e.scripts.ResetStats()
	return resp.OK
}
