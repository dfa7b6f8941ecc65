package info

import "strings"

// upstreamRows are the lines that the upstream has for INFO.
var upstreamRows = []row{family("upstream_", func(f *Facts, put put) {
	for _, line := range f.Upstream() {
		name := strings.TrimPrefix(line.Name, "upstream_")
		if name == "state" {
			put(hidden+"ok", line.Value == "ok")
		} else if name == "degraded_since" {
			put(hidden+"degraded", line.Value != "0")
		} else if node, ok := strings.CutPrefix(line.Value, "addr="); ok {
			addr, rest, _ := strings.Cut(node, ",")
			put(hidden+"node", strings.HasPrefix(rest, "state=ok,"), addr)
		}
		put(name, line.Value)
	}
},
	gauge("zlimit_upstream_ok",
		"0 while the nodes of the upstream cannot be found; without an upstream there is no such metric.").
		of(hidden+"ok"),
	gauge("zlimit_upstream_degraded", "1 while decisions are answered without the upstream.").
		of(hidden+"degraded"),
	gauge("zlimit_upstream_degraded_since_seconds",
		"Unix time since when decisions are answered without the upstream; 0: they are not.").
		of("degraded_since"),
	counter("zlimit_upstream_round_trips_total", "Pipelines sent to the upstream.").of("round_trips"),
	counter("zlimit_upstream_commands_total", "Commands in them.").of("commands"),
	counter("zlimit_upstream_retries_total", "Commands that were sent again.").of("retries"),
	counter("zlimit_upstream_redirects_total", "Answers MOVED and ASK.").of("redirects"),
	counter("zlimit_upstream_failed_total", "Calls that the upstream did not answer.").of("failed"),
	counter("zlimit_upstream_refused_total", "Commands refused by a full queue.").of("refused_by_queue"),
	counter("zlimit_upstream_degraded_decisions_total", "Decisions answered without the upstream.").
		of("degraded"),
	gauge("zlimit_upstream_node_ok", "0 while a master does not answer.", "node").of(hidden+"node"),
)}
