package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// latencyGroup returns the row of LATENCY.
func (e *Engine) latencyGroup() commands.Command {
	const since = "2.8.13"
	row := func(name string, arity int, complexity, syntax, summary string,
		handler commands.Handler,
	) commands.Command {
		return commands.Command{
			Name: name, Arity: arity, Group: "server", Since: since,
			Flags: commands.Admin | commands.NoScript | commands.Loading | commands.Stale,
			Tips: []string{
				"nondeterministic_output", "request_policy:all_nodes",
				"response_policy:special",
			},
			Complexity: complexity, Syntax: syntax, Summary: summary, Handler: handler,
		}
	}
	doctor := row("doctor", 2, "O(1)", "",
		"Says which events took long, and what helps.", e.latencyDoctor)
	doctor.Deviation = "the report is zlimit's own"
	histogram := row("histogram", -2, "O(N)", "[command [command ...]]",
		"Returns how long the calls of commands took, by powers of two.", e.latencyHistogram)
	histogram.Since = "7.0.0"
	histogram.Deviation = "the distribution is that of the calls that were timed, one in sixteen of short " +
		"commands, scaled to all calls"
	reset := row("reset", -2, "O(1)", "[event [event ...]]",
		"Removes the samples of events, or of all, and returns of how many.", e.latencyReset)
	reset.Tips = []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	return commands.Command{
		Name: "latency", Arity: -2, Group: "server", Since: since, Complexity: "Depends on subcommand.",
		Summary: "Shows what took long, by event.",
		Subs: []commands.Command{
			doctor,
			row("graph", 3, "O(1)", "event", "Draws the samples of an event.", e.latencyGraph),
			commands.Help("server", since),
			histogram,
			row("history", 3, "O(1)", "event",
				"Returns the samples of an event: unix time and milliseconds.", e.latencyHistory),
			row("latest", 2, "O(1)", "",
				"Returns each event with its latest sample and its longest duration.", e.latencyLatest),
			reset,
		},
	}
}

// LATENCY LATEST
func (e *Engine) latencyLatest(*commands.Ctx) resp.Value {
	var out []resp.Value
	for _, name := range e.slow.events.Names() {
		event := e.slow.events.Get(name)
		if len(event.Samples) == 0 {
			continue // LATENCY RESET came between
		}
		last := event.Samples[len(event.Samples)-1]
		out = append(out, resp.Array(
			resp.Bulk(name), resp.Int(last.UnixS), resp.Int(last.Ms), resp.Int(event.MaxMs)))
	}
	return resp.Array(out...)
}

// LATENCY HISTORY event
func (e *Engine) latencyHistory(c *commands.Ctx) resp.Value {
	var out []resp.Value
	for _, s := range e.slow.events.Get(string(c.Args[2])).Samples {
		out = append(out, resp.Array(resp.Int(s.UnixS), resp.Int(s.Ms)))
	}
	return resp.Array(out...)
}

// LATENCY RESET [event [event ...]]
func (e *Engine) latencyReset(c *commands.Ctx) resp.Value {
	var names []string
	for _, a := range c.Args[2:] {
		names = append(names, string(a))
	}
	return resp.Int(int64(e.slow.events.Reset(names...)))
}

// LATENCY GRAPH event
func (e *Engine) latencyGraph(c *commands.Ctx) resp.Value {
	name := string(c.Args[2])
	event := e.slow.events.Get(name)
	if len(event.Samples) == 0 {
		return resp.Error("ERR No samples available for event '" + resp.OneLine(resp.CString(name)) + "'")
	}
	return resp.Verbatim(latencyGraph(name, event, c.NowUs/1_000_000))
}
