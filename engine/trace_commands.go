package engine

import (
	"errors"
	"fmt"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// traceGroup returns the row of RL.TRACE.
func (e *Engine) traceGroup() []commands.Command {
	keys := []commands.KeySpec{{Flags: "RO access", First: 2, Step: 1}}
	row := func(name string, arity int, keys []commands.KeySpec, syntax, summary string,
		handler commands.Handler,
	) commands.Command {
		return commands.Command{
			Name: name, Arity: arity, Flags: commands.Admin, Keys: keys, Group: "rate-limit", Since: "0.1.0",
			Complexity: "O(1)", Syntax: syntax, Summary: summary, Deviation: "zlimit's own", Handler: handler,
		}
	}
	help := commands.Help("rate-limit", "0.1.0")
	help.Deviation = "zlimit's own"
	return []commands.Command{{
		Name: "rl.trace", Arity: -2, Group: "rate-limit", Since: "0.1.0", Complexity: "O(1)",
		Summary:   "Records the decisions about single keys, for RL.SIM.",
		Example:   "ON user:42 100",
		Deviation: "zlimit's own",
		Subs: []commands.Command{
			help,
			row("list", 2, nil, "", "Lists the keys of the database that are traced.", e.traceList),
			row("off", 3, keys, "key", "Stops to trace a key and forgets its decisions.", e.traceOff),
			row("on", 4, keys, "key n", "Starts to trace a key: keeps its last n decisions.", e.traceOn),
		},
	}}
}

// RL.TRACE ON key n
func (e *Engine) traceOn(c *commands.Ctx) resp.Value {
	n, ok := store.ParseInt(c.Args[3])
	switch {
	case !ok:
		return errTraceNumber
	case n < 1 || n > commands.MaxSim:
		return errTraceN
	}
	empty := c.DB.Peek(c.Args[2], c.NowMs) == nil
	switch err := e.traces.Start(c.DBIndex, string(c.Args[2]), int(n), empty); {
	case errors.Is(err, stats.ErrManyTraces):
		return errManyTraces
	case errors.Is(err, stats.ErrManyDecisions):
		return errManyTraced
	case errors.Is(err, stats.ErrLongTracedName):
		return errLongTraced
	}
	return resp.OK
}

// RL.TRACE OFF key
//
// The reply is 1, or 0 if the key was not traced.
func (e *Engine) traceOff(c *commands.Ctx) resp.Value {
	if e.traces.Stop(c.DBIndex, string(c.Args[2])) {
		return resp.Int(1)
	}
	return resp.Int(0)
}

// RL.TRACE LIST
//
// The reply is, for each key of the database that is traced and that the user may read, its
// name, how many decisions are kept, how many there are, and how many were dropped.
func (e *Engine) traceList(c *commands.Ctx) resp.Value {
	out := []resp.Value{}
	for _, t := range e.traces.List(c.DBIndex) {
		if c.Guard == nil || c.Guard.ReadsKey(c.Cmd, c.Args, t.Key) {
			out = append(out, resp.Array(
				resp.Bulk(t.Key), resp.Int(int64(t.Size)), resp.Int(int64(t.Held)), resp.Int(t.Lost)))
		}
	}
	return resp.Array(out...)
}

var (
	errTraceNumber = resp.Error("ERR n is not an integer or out of range")
	errTraceN      = resp.Error(fmt.Sprintf("ERR n must be from 1 to %d", commands.MaxSim))
	errManyTraces  = resp.Error(fmt.Sprintf("ERR %d keys are traced already: RL.TRACE OFF one of them",
		stats.MaxTraces))
	errManyTraced = resp.Error(fmt.Sprintf("ERR all traces together keep at most %d decisions",
		stats.MaxTraceDecisions))
	errLongTraced = resp.Error(fmt.Sprintf("ERR key must be at most %d bytes to be traced",
		stats.MaxTracedKey))
)
