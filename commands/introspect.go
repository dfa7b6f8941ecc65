package commands

import (
	"bytes"

	"github.com/zlimit/zlimit/resp"
)

// introspection has the handlers of the COMMAND family.
type introspection struct {
	table func() *Table
}

// Introspection returns the rows of the COMMAND family. They describe the table that
// has them, which is made after them: table is called when a command runs.
func Introspection(table func() *Table) []Command {
	in := introspection{table}
	connection := []string{"connection"}
	unordered := []string{"nondeterministic_output_order"}
	return []Command{{
		Name: "command", Arity: -1, Flags: Loading | Stale, Categories: connection, Tips: unordered,
		Group: "server", Since: "2.8.13", Complexity: "O(N)", Handler: in.all,
		Summary: "Describes every command.",
		Subs: []Command{
			{
				Name: "count", Arity: 2, Flags: Loading | Stale, Categories: connection,
				Group: "server", Since: "2.8.13", Complexity: "O(1)", Handler: in.count,
				Summary: "Counts the commands, without their subcommands.",
			},
			{
				Name: "docs", Arity: -2, Flags: Loading | Stale, Categories: connection, Tips: unordered,
				Group: "server", Since: "7.0.0", Complexity: "O(N)", Handler: in.docs,
				Syntax:  "[command-name [command-name ...]]",
				Summary: "Returns the documentation of commands, of all commands by default.",
			},
			{
				Name: "getkeys", Arity: -4, Flags: Loading | Stale, Categories: connection,
				Group: "server", Since: "2.8.13", Complexity: "O(N)", Handler: in.getKeys,
				Syntax:  "command arg [arg ...]",
				Summary: "Lists the keys of a call.",
			},
			{
				Name: "getkeysandflags", Arity: -4, Flags: Loading | Stale, Categories: connection,
				Group: "server", Since: "7.0.0", Complexity: "O(N)", Handler: in.getKeysAndFlags,
				Syntax:  "command arg [arg ...]",
				Summary: "Lists the keys of a call, with flags that say what it does to each.",
			},
			Help("server", "5.0.0", "connection"),
			{
				Name: "info", Arity: -2, Flags: Loading | Stale, Categories: connection, Tips: unordered,
				Group: "server", Since: "2.8.13", Complexity: "O(N)", Handler: in.info,
				Syntax: "[command-name [command-name ...]]",
				Summary: "Returns the arity, flags, keys and ACL categories of commands, of all commands " +
					"by default.",
			},
			{
				Name: "list", Arity: -2, Flags: Loading | Stale, Categories: connection, Tips: unordered,
				Group: "server", Since: "7.0.0", Complexity: "O(N)", Handler: in.list,
				Syntax:  "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
				Summary: "Lists the names of commands and subcommands.",
			},
		},
	}, {
		Name: "rl.help", Arity: 1, Flags: Loading | Stale,
		Group: "rate-limit", Since: "0.1.0", Complexity: "O(N)", Handler: in.rlHelp,
		Summary:   "Lists the commands that Redis does not have, with an example each.",
		Deviation: "zlimit's own",
	}}
}

// Find returns a command by its full name, "get" or "config|get", in any case, or nil.
func (t *Table) Find(fullName []byte) *Command {
	name, sub, isSub := bytes.Cut(fullName, []byte{'|'})
	c := t.Lookup(name)
	if c == nil || !isSub {
		return c
	}
	return c.Sub(sub)
}

// perRow caches the entries of rows during one call, which may name a row a million
// times.
type perRow map[*Command]resp.Value

func (m perRow) of(c *Command, build func(*Command) resp.Value) resp.Value {
	v, ok := m[c]
	if !ok {
		v = build(c)
		m[c] = v
	}
	return v
}

// COMMAND
func (in introspection) all(c *Ctx) resp.Value {
	if len(c.Args) > 1 {
		// The table passes a word that is no subcommand to the container.
		return unknownSubcommand(c.Cmd, c.Args[1])
	}
	return in.infoOfAll(c)
}

// COMMAND COUNT
func (in introspection) count(*Ctx) resp.Value {
	return resp.Int(int64(len(in.table().All())))
}

// COMMAND LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]
func (in introspection) list(c *Ctx) resp.Value {
	wanted, ok := listFilter(c.Args[2:])
	if !ok {
		return ErrSyntax
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
func listFilter(rest [][]byte) (wanted func(*Command) bool, ok bool) {
	o := options{rest}
	switch {
	case !o.more():
		return func(*Command) bool { return true }, true
	case len(rest) != 3 || !o.word("filterby"):
		return nil, false
	case o.word("module"):
		return func(*Command) bool { return false }, true // there are no modules
	case o.word("aclcat"):
		category := CategorySetOf(string(lower(o.value())))
		return func(c *Command) bool { return c.ACLCategories().Has(category) }, true
	case o.word("pattern"):
		pattern := lower(o.value())
		return func(c *Command) bool { return GlobMatch(pattern, c.FullName()) }, true
	}
	return nil, false
}
