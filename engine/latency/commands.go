package latency

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// Row returns the row of LATENCY. histogram handles LATENCY HISTOGRAM, whose figures
// are those of all calls.
func (m *Monitor) Row(histogram commands.Handler) commands.Command {
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
		"Says which events took long, and what helps.", m.doctor)
	doctor.Deviation = "the report is zlimit's own"
	histograms := row("histogram", -2, "O(N)", "[command [command ...]]",
		"Returns how long the calls of commands took, by powers of two.", histogram)
	histograms.Since = "7.0.0"
	histograms.Deviation = "the distribution is that of the calls that were timed, one in sixteen of short " +
		"commands, scaled to all calls"
	reset := row("reset", -2, "O(1)", "[event [event ...]]",
		"Removes the samples of events, or of all, and returns of how many.", m.resetEvents)
	reset.Tips = []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	return commands.Command{
		Name: "latency", Arity: -2, Group: "server", Since: since, Complexity: "Depends on subcommand.",
		Summary: "Shows what took long, by event.",
		Subs: []commands.Command{
			doctor,
			row("graph", 3, "O(1)", "event", "Draws the samples of an event.", m.graph),
			commands.Help("server", since),
			histograms,
			row("history", 3, "O(1)", "event",
				"Returns the samples of an event: unix time and milliseconds.", m.history),
			row("latest", 2, "O(1)", "",
				"Returns each event with its latest sample and its longest duration.", m.latest),
			reset,
		},
	}
}

// LATENCY LATEST
func (m *Monitor) latest(*commands.Ctx) resp.Value {
	var out []resp.Value
	for _, name := range m.names() {
		e := m.get(name)
		if len(e.Samples) == 0 {
			continue // LATENCY RESET came between
		}
		last := e.Samples[len(e.Samples)-1]
		out = append(out, resp.Array(
			resp.Bulk(name), resp.Int(last.UnixS), resp.Int(last.Ms), resp.Int(e.MaxMs)))
	}
	return resp.Array(out...)
}

// LATENCY HISTORY event
func (m *Monitor) history(c *commands.Ctx) resp.Value {
	var out []resp.Value
	for _, s := range m.get(string(c.Args[2])).Samples {
		out = append(out, resp.Array(resp.Int(s.UnixS), resp.Int(s.Ms)))
	}
	return resp.Array(out...)
}

// LATENCY RESET [event [event ...]]
func (m *Monitor) resetEvents(c *commands.Ctx) resp.Value {
	var names []string
	for _, a := range c.Args[2:] {
		names = append(names, string(a))
	}
	return resp.Int(int64(m.reset(names...)))
}

// LATENCY GRAPH event
func (m *Monitor) graph(c *commands.Ctx) resp.Value {
	name := string(c.Args[2])
	e := m.get(name)
	if len(e.Samples) == 0 {
		return resp.Error("ERR No samples available for event '" + resp.OneLine(resp.CString(name)) + "'")
	}
	return resp.Verbatim(draw(name, e, c.NowUs/1_000_000))
}
