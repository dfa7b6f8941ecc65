package commands

import "github.com/zlimit/zlimit/resp"

// Modules is the row of MODULE. Clients ask for the list, which is always empty.
var Modules = []Command{{
	Name: "module", Arity: -2, Group: "server", Since: "4.0.0", Complexity: "Depends on subcommand.",
	Summary: "Lists modules: always none.",
	Subs: []Command{
		Help("server", "5.0.0"),
		{
			Name: "list", Arity: 2, Flags: Admin | NoScript, Tips: []string{"nondeterministic_output_order"},
			Group: "server", Since: "4.0.0", Complexity: "O(1)",
			Summary: "Returns an empty list.",
			Handler: func(*Ctx) resp.Value { return resp.Array() },
		},
	},
}}
