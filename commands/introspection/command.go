// Package introspection describes the rows of a command table: the COMMAND family, RL.HELP, and the pages of
// the documentation that list commands. It knows nothing of a command but its row.
//
// This package is internal to zlimit: it may change in any release.
package introspection

import (
	"strings"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// introspection has the handlers.
type introspection struct {
	table      func() *commands.Table
	info, docs atomic.Pointer[description] // COMMAND's and COMMAND DOCS' replies about all
}

// Commands returns the rows of the COMMAND family and RL.HELP. They describe the table that
// has them, which is made after them: table is called when a command runs.
func Commands(table func() *commands.Table) []commands.Command {
	in := &introspection{table: table}
	const flags = commands.Loading | commands.Stale
	connection := []string{"connection"}
	unordered := []string{"nondeterministic_output_order"}
	return []commands.Command{{
		Name: "command", Arity: -1, Flags: flags, Categories: connection, Tips: unordered,
		Group: "server", Since: "2.8.13", Complexity: "O(N)", Handler: in.all,
		Summary: "Describes every command.",
		Subs: []commands.Command{
			{
				Name: "count", Arity: 2, Flags: flags, Categories: connection,
				Group: "server", Since: "2.8.13", Complexity: "O(1)", Handler: in.count,
				Summary: "Counts the commands, without their subcommands.",
			},
			{
				Name: "docs", Arity: -2, Flags: flags, Categories: connection, Tips: unordered,
				Group: "server", Since: "7.0.0", Complexity: "O(N)", Handler: in.commandDocs,
				Syntax:  "[command-name [command-name ...]]",
				Summary: "Returns the documentation of commands, of all commands by default.",
			},
			{
				Name: "getkeys", Arity: -4, Flags: flags, Categories: connection,
				Group: "server", Since: "2.8.13", Complexity: "O(N)", Handler: in.getKeys,
				Syntax:  "command arg [arg ...]",
				Summary: "Lists the keys of a call.",
			},
			{
				Name: "getkeysandflags", Arity: -4, Flags: flags, Categories: connection,
				Group: "server", Since: "7.0.0", Complexity: "O(N)", Handler: in.getKeysAndFlags,
				Syntax:  "command arg [arg ...]",
				Summary: "Lists the keys of a call, with flags that say what it does to each.",
			},
			commands.Help("server", "5.0.0", "connection"),
			{
				Name: "info", Arity: -2, Flags: flags, Categories: connection, Tips: unordered,
				Group: "server", Since: "2.8.13", Complexity: "O(N)", Handler: in.commandInfo,
				Syntax: "[command-name [command-name ...]]",
				Summary: "Returns the arity, flags, keys and ACL categories of commands, of all commands " +
					"by default.",
			},
			{
				Name: "list", Arity: -2, Flags: flags, Categories: connection, Tips: unordered,
				Group: "server", Since: "7.0.0", Complexity: "O(N)", Handler: in.list,
				Syntax:  "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
				Summary: "Lists the names of commands and subcommands.",
			},
		},
	}, {
		Name: "rl.help", Arity: 1, Flags: flags,
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(N)", Handler: in.rlHelp,
		Summary:   "Lists the commands that Redis does not have, with an example each.",
		Deviation: "zlimit's own",
	}}
}

// perRow caches the entries of rows during one call, which may name a row a million
// times.
type perRow map[*commands.Command]resp.Value

func (m perRow) of(c *commands.Command, build func(*commands.Command) resp.Value) resp.Value {
	v, ok := m[c]
	if !ok {
		v = build(c)
		m[c] = v
	}
	return v
}

// COMMAND
func (in *introspection) all(c *commands.Ctx) resp.Value {
	return describe(c, &in.info, in.table().All(), infoOfAll)
}

// COMMAND COUNT
func (in *introspection) count(*commands.Ctx) resp.Value {
	return resp.Int(int64(len(in.table().All())))
}

// COMMAND LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]
func (in *introspection) list(c *commands.Ctx) resp.Value {
	wanted, ok := listFilter(c.Args[2:])
	if !ok {
		return commands.ErrSyntax
	}
	var out []resp.Value
	for _, cmd := range in.table().All() {
		if wanted(cmd) {
			out = append(out, resp.Bulk(cmd.FullName()))
		}
		for i := range cmd.Subs {
			if sub := &cmd.Subs[i]; wanted(sub) {
				out = append(out, resp.Bulk(sub.FullName()))
			}
		}
	}
	return resp.Array(out...)
}

// listFilter reads the options of COMMAND LIST.
func listFilter(options [][]byte) (wanted func(*commands.Command) bool, ok bool) {
	if len(options) == 0 {
		return func(*commands.Command) bool { return true }, true
	}
	if len(options) != 3 || !commands.EqualFold(options[0], "filterby") {
		return nil, false
	}
	value := commands.Lower(options[2])
	switch by := options[1]; {
	case commands.EqualFold(by, "module"):
		return func(*commands.Command) bool { return false }, true // no command is a module's
	case commands.EqualFold(by, "aclcat"):
		category := commands.CategorySetOf(string(value))
		return func(c *commands.Command) bool { return c.ACLCategories().Has(category) }, true
	case commands.EqualFold(by, "pattern"):
		return func(c *commands.Command) bool { return commands.GlobMatch(value, c.FullName()) }, true
	}
	return nil, false
}

// RL.HELP
//
// The reply has the form of a container's HELP, with a third line for the example.
func (in *introspection) rlHelp(*commands.Ctx) resp.Value {
	lines := []resp.Value{resp.Status("Commands that Redis does not have, with an example each:")}
	for _, cmd := range in.table().All() {
		if cmd.Example == "" && cmd.Group != "rate-limit" {
			continue
		}
		name := strings.ToUpper(cmd.Called)
		lines = append(lines, resp.Status(strings.TrimSuffix(name+" "+cmd.Syntax, " ")),
			resp.Status("    "+cmd.Summary),
			resp.Status(strings.TrimSuffix("    Example: "+name+" "+cmd.Example, " ")))
	}
	return resp.Array(lines...)
}
