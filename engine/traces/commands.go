package traces

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Commands returns the row of RL.TRACE.
func (t *Tracer) Commands() []commands.Command {
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
	return []commands.Command{{
		Name: "rl.trace", Arity: -2, Group: "rate-limit", Since: "0.1.0", Complexity: "O(1)",
		Summary:   "Records the decisions about single keys, for RL.SIM.",
		Example:   "ON user:42 100",
		Deviation: "zlimit's own",
		Subs: []commands.Command{
			help,
			row("list", 2, nil, "", "Lists the keys of the database that are traced.", t.listKeys),
			row("off", 3, keys, "key", "Stops to trace a key and forgets its decisions.", t.turnOff),
			row("on", 4, keys, "key n", "Starts to trace a key: keeps its last n decisions.", t.turnOn),
		},
	}}
}

// RL.TRACE ON key n
func (t *Tracer) turnOn(c *commands.Ctx) resp.Value {
	n, ok := store.ParseInt(c.Args[3])
	switch {
	case !ok:
		return errInteger
	case n < 1 || n > rl.MaxSim:
		return errRange
	}
	empty := !t.Elsewhere && c.DB.Peek(c.Args[2], c.NowMs) == nil
	return t.start(c.DBIndex, string(c.Args[2]), int(n), empty)
}

// RL.TRACE OFF key
//
// The reply is 1, or 0 if the key was not traced.
func (t *Tracer) turnOff(c *commands.Ctx) resp.Value {
	if t.stop(c.DBIndex, string(c.Args[2])) {
		return resp.Int(1)
	}
	return resp.Int(0)
}

// RL.TRACE LIST
//
// The reply is, for each key of the database that is traced and that the user may read, its
// name, how many decisions are kept, how many there are, and how many were dropped.
func (t *Tracer) listKeys(c *commands.Ctx) resp.Value {
	out := []resp.Value{}
	for _, s := range t.list(c.DBIndex) {
		if c.Guard() == nil || c.Guard().ReadsKey(c.Cmd, c.Args, s.key) {
			out = append(out, resp.Array(
				resp.Bulk(s.key), resp.Int(int64(s.size)), resp.Int(int64(s.held)), resp.Int(s.lost)))
		}
	}
	return resp.Array(out...)
}

var (
	errInteger  = resp.Error("ERR n is not an integer or out of range")
	errRange    = resp.Error(fmt.Sprintf("ERR n must be from 1 to %d", rl.MaxSim))
	errManyKeys = resp.Error(fmt.Sprintf("ERR %d keys are traced already: RL.TRACE OFF one of them",
		MaxKeys))
	errManyDecisions = resp.Error(fmt.Sprintf("ERR all traces together keep at most %d decisions",
		MaxDecisions))
	errLongName = resp.Error(fmt.Sprintf("ERR key must be at most %d bytes to be traced", maxName))
)
