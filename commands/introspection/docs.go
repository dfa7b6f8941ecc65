package introspection

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// COMMAND DOCS [command-name [command-name ...]]
func (in *introspection) commandDocs(c *commands.Ctx) resp.Value {
	t := in.table()
	names := c.Args[2:]
	if len(names) == 0 {
		return describe(c, &in.docs, t.All(), docsOfAll)
	}
	var pairs []resp.Value
	docs := make(perRow)
	for _, name := range names {
		if cmd := t.Find(name); cmd != nil {
			pairs = append(pairs, resp.Bulk(cmd.FullName()), docs.of(cmd, docsOf))
		}
	}
	return resp.Map(pairs...)
}

func docsOfAll(rows []*commands.Command) resp.Value {
	var pairs []resp.Value
	for _, cmd := range rows {
		pairs = append(pairs, resp.Bulk(cmd.FullName()), docsOf(cmd))
	}
	return resp.Map(pairs...)
}

// docsOf returns a command's entry in COMMAND DOCS. Redis' fields history, doc_flags,
// deprecated_since and replaced_by are missing, because rows do not have them.
func docsOf(c *commands.Command) resp.Value {
	pairs := []resp.Value{
		resp.Bulk("summary"), resp.Bulk(c.Summary),
		resp.Bulk("since"), resp.Bulk(c.Since),
		resp.Bulk("group"), resp.Bulk(c.Group),
	}
	if c.Complexity != "" {
		pairs = append(pairs, resp.Bulk("complexity"), resp.Bulk(c.Complexity))
	}
	if arguments := argumentsOf(c); len(arguments) > 0 {
		pairs = append(pairs, resp.Bulk("arguments"), argumentDocs(arguments))
	}
	if len(c.Subs) > 0 {
		var subs []resp.Value
		for i := range c.Subs {
			subs = append(subs, resp.Bulk(c.Subs[i].FullName()), docsOf(&c.Subs[i]))
		}
		pairs = append(pairs, resp.Bulk("subcommands"), resp.Map(subs...))
	}
	return resp.Map(pairs...)
}

func argumentDocs(arguments []argument) resp.Value {
	out := make([]resp.Value, len(arguments))
	for i := range arguments {
		out[i] = arguments[i].docs()
	}
	return resp.Array(out...)
}

func (a *argument) docs() resp.Value {
	pairs := []resp.Value{
		resp.Bulk("name"), resp.Bulk(a.name),
		resp.Bulk("type"), resp.Bulk(a.kind),
	}
	if a.kind == "key" || a.kind == "pattern" && a.keySpec > 0 {
		pairs = append(pairs, resp.Bulk("key_spec_index"), resp.Int(int64(a.keySpec)))
	}
	if a.token != "" {
		pairs = append(pairs, resp.Bulk("token"), resp.Bulk(a.token))
	}
	if flags := a.flags(); len(flags) > 0 {
		pairs = append(pairs, resp.Bulk("flags"), statusSet(flags))
	}
	if len(a.members) > 0 {
		pairs = append(pairs, resp.Bulk("arguments"), argumentDocs(a.members))
	}
	return resp.Map(pairs...)
}

func (a *argument) flags() []string {
	var out []string
	if a.optional {
		out = append(out, "optional")
	}
	if a.multiple {
		out = append(out, "multiple")
	}
	if a.multipleToken {
		out = append(out, "multiple_token")
	}
	return out
}
