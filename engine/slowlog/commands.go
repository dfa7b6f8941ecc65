package slowlog

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

const flags = commands.Admin | commands.Loading | commands.Stale

// Row returns the row of SLOWLOG.
func (l *Log) Row() commands.Command {
	const since = "2.2.12"
	return commands.Command{
		Name: "slowlog", Arity: -2, Group: "server", Since: since, Complexity: "Depends on subcommand.",
		Summary: "Shows the calls that took long.",
		Subs: []commands.Command{
			{
				Name: "get", Arity: -2, Flags: flags, Group: "server", Since: since,
				Tips:       []string{"request_policy:all_nodes", "nondeterministic_output"},
				Complexity: "O(N)", Syntax: "[count]", Handler: l.get,
				Summary: "Returns the latest entries: 10, or count, or all if count is -1.",
				Deviation: "a short call of a fast command in a script or from the program that runs the " +
					"engine is an entry only if slowlog-log-slower-than is below 1000",
			},
			commands.Help("server", "6.2.0"),
			{
				Name: "len", Arity: 2, Flags: flags, Group: "server", Since: since,
				Tips: []string{
					"request_policy:all_nodes", "response_policy:agg_sum",
					"nondeterministic_output",
				},
				Complexity: "O(1)", Handler: l.length,
				Summary: "Returns the number of entries.",
			},
			{
				Name: "reset", Arity: 2, Flags: flags, Group: "server", Since: since,
				Tips:       []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
				Complexity: "O(N)", Handler: l.reset,
				Summary: "Removes all entries.",
			},
		},
	}
}

var errCount = resp.Error("ERR count should be greater than or equal to -1")

// SLOWLOG GET [count]
func (l *Log) get(c *commands.Ctx) resp.Value {
	count := int64(10)
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = store.ParseInt(c.Args[2]); !ok || count < -1 {
			return errCount
		}
	default:
		return commands.WrongSubcommandArity(c)
	}
	entries := l.Newest(count)
	out := make([]resp.Value, len(entries))
	for i := range entries {
		entry := &entries[i]
		out[i] = resp.Array(
			resp.Int(entry.ID), resp.Int(entry.UnixS), resp.Int(entry.DurationUs),
			resp.Array(resp.Bulks(entry.Args)...), resp.Bulk(entry.Addr), resp.Bulk(entry.Name),
		)
	}
	return resp.Array(out...)
}

// SLOWLOG LEN
func (l *Log) length(*commands.Ctx) resp.Value { return resp.Int(int64(l.Len())) }

// SLOWLOG RESET
func (l *Log) reset(*commands.Ctx) resp.Value {
	l.Reset()
	return resp.OK
}
