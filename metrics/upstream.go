package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zlimit/zlimit/upstream/call"
)

var (
	upstreamOK = desc("zlimit_upstream_ok",
		"0 while the nodes of the upstream cannot be found; without an upstream there is no such metric.")
	upstreamDegraded = desc("zlimit_upstream_degraded",
		"1 while decisions are answered without the upstream.")
	upstreamDegradedSince = desc("zlimit_upstream_degraded_since_seconds",
		"Unix time since when decisions are answered without the upstream; 0: they are not.")
	upstreamNodeOK = desc("zlimit_upstream_node_ok", "0 while a master does not answer.", "node")
)

// upstreamTotals are the counters of INFO's section upstream that are metrics.
var upstreamTotals = map[string]*prometheus.Desc{
	"upstream_round_trips": desc("zlimit_upstream_round_trips_total", "Pipelines sent to the upstream."),
	"upstream_commands":    desc("zlimit_upstream_commands_total", "Commands in them."),
	"upstream_retries":     desc("zlimit_upstream_retries_total", "Commands that were sent again."),
	"upstream_redirects":   desc("zlimit_upstream_redirects_total", "Answers MOVED and ASK."),
	"upstream_failed": desc("zlimit_upstream_failed_total",
		"Calls that the upstream did not answer."),
	"upstream_refused_by_queue": desc("zlimit_upstream_refused_total", "Commands refused by a full queue."),
	"upstream_degraded": desc("zlimit_upstream_degraded_decisions_total",
		"Decisions answered without the upstream."),
}

func describeUpstream(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		upstreamOK, upstreamDegraded, upstreamDegradedSince, upstreamNodeOK,
	} {
		ch <- d
	}
	for _, d := range upstreamTotals {
		ch <- d
	}
}

// collectUpstream emits what INFO says of the upstream, if there is one.
func collectUpstream(
	facts []call.Fact, put func(*prometheus.Desc, prometheus.ValueType, float64, ...string),
) {
	const total, now = prometheus.CounterValue, prometheus.GaugeValue
	for _, f := range facts {
		n, err := strconv.ParseFloat(f.Value, 64)
		switch d := upstreamTotals[f.Name]; {
		case d != nil && err == nil:
			put(d, total, n)
		case f.Name == "upstream_state":
			put(upstreamOK, now, oneIf(f.Value == "ok"))
		case f.Name == "upstream_degraded_since":
			put(upstreamDegraded, now, oneIf(f.Value != "0"))
			put(upstreamDegradedSince, now, n)
		case strings.HasPrefix(f.Value, "addr="):
			addr, rest, _ := strings.Cut(strings.TrimPrefix(f.Value, "addr="), ",")
			put(upstreamNodeOK, now, oneIf(strings.HasPrefix(rest, "state=ok,")), addr)
		}
	}
}

func oneIf(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
