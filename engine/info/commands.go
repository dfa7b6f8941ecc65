package info

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
)

var commandRows = []row{family("cmdstat_", func(f *Facts, put put) {
	f.Table.Each(func(c *commands.Command) {
		n := f.Stats.Calls(c)
		if n.Calls+n.Rejected == 0 {
			return
		}
		perCall := f.Stats.Latency(c).MeanUs()
		put(c.FullName(), pairs{
			{"calls", n.Calls},
			{"usec", fmt.Sprintf("%.0f", perCall*float64(n.Calls))},
			{"usec_per_call", ratio(perCall)},
			{"rejected_calls", n.Rejected},
			{"failed_calls", n.Failed},
		})
	})
})}

// unsafeBytes replaces the bytes that would break INFO's lines, as Redis does.
var unsafeBytes = strings.NewReplacer("#", "_", ":", "_", "\n", "_", "\r", "_")

var errorRows = []row{family("errorstat_", func(f *Facts, put put) {
	f.Stats.Errors.Each(func(code string, n int64) { put(unsafeBytes.Replace(code), pairs{{"count", n}}) })
})}

var latencyRows = []row{
	family("latency_percentiles_usec_", func(f *Facts, put put) {
		percentiles := f.Config.Strings("latency-tracking-info-percentiles")
		f.eachLatency(func(c *commands.Command, l *stats.Latency) {
			shown := make(pairs, len(percentiles))
			for i, p := range percentiles {
				percent, _ := strconv.ParseFloat(p, 64) // config has checked it
				shown[i] = pair{"p" + p, fmt.Sprintf("%d.000", l.PercentileUs(percent))}
			}
			put(c.FullName(), shown)
		})
	}, condition(func(f *Facts) bool { return f.Config.Bool("latency-tracking") })),
	family("", func(f *Facts, put put) {
		f.eachLatency(func(c *commands.Command, l *stats.Latency) { put("", times(l), c.FullName()) })
	}, histogram("zlimit_command_duration_seconds",
		"Execution times of commands, from a sample of the calls.", "command")),
}

// eachLatency visits the commands that have timed calls.
func (f *Facts) eachLatency(visit func(c *commands.Command, l *stats.Latency)) {
	f.Table.Each(func(c *commands.Command) {
		if l := f.Stats.Latency(c); l.Timed() {
			visit(c, l)
		}
	})
}

// times returns a histogram in seconds. Only every second power of two is a bound, because each is a
// series for each command.
func times(l *stats.Latency) Histogram {
	h := Histogram{Sum: float64(l.SumUs()) / 1e6, Buckets: map[float64]uint64{}}
	for i, n := range l.Buckets() {
		h.Count += uint64(n) // a sum of the copies, because calls may be added meanwhile
		if i%2 == 0 && i < stats.LatencyBuckets-1 {
			h.Buckets[math.Ldexp(1e-6, i)] = h.Count
		}
	}
	return h
}
