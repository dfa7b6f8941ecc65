package commands

import "github.com/zlimit/zlimit/resp"

// COMMAND DOCS [command-name [command-name ...]]
func (in introspection) docs(c *Ctx) resp.Value {
	t := in.table()
	names := c.Args[2:]
	if len(names) == 0 {
		return t.docs.reply(c, t.docsOfAll)
	}
	var pairs []resp.Value
	docs := make(perRow)
	for _, name := range names {
		if cmd := t.Find(name); cmd != nil {
			pairs = append(pairs, resp.Bulk(cmd.FullName()), docs.of(cmd, (*Command).docs))
		}
	}
	return resp.Map(pairs...)
}

func (t *Table) docsOfAll() resp.Value {
	var pairs []resp.Value
	for _, cmd := range t.All() {
		pairs = append(pairs, resp.Bulk(cmd.FullName()), cmd.docs())
	}
	return resp.Map(pairs...)
}

// docs returns a command's entry in COMMAND DOCS. Redis' fields history, doc_flags,
// deprecated_since and replaced_by are missing, because rows do not have them.
func (c *Command) docs() resp.Value {
	pairs := []resp.Value{
		resp.Bulk("summary"), resp.Bulk(c.Summary),
		resp.Bulk("since"), resp.Bulk(c.Since),
		resp.Bulk("group"), resp.Bulk(c.Group),
	}
	if c.Complexity != "" {
		pairs = append(pairs, resp.Bulk("complexity"), resp.Bulk(c.Complexity))
	}
	if arguments := c.arguments(); len(arguments) > 0 {
		pairs = append(pairs, resp.Bulk("arguments"), argumentDocs(arguments))
	}
	if len(c.Subs) > 0 {
		var subs []resp.Value
		for i := range c.Subs {
			subs = append(subs, resp.Bulk(c.Subs[i].FullName()), c.Subs[i].docs())
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
