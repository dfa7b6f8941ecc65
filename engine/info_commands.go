package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

func infoCommandStats(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	e.eachCommand(func(c *commands.Command) {
		n := e.stats.Calls(c)
		if n.Calls+n.Rejected == 0 {
			return
		}
		perCall := e.stats.Latency(c).MeanUs()
		w.put("cmdstat_"+c.FullName(),
			fmt.Sprintf("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
				n.Calls, perCall*float64(n.Calls), perCall, n.Rejected, n.Failed))
	})
}

// eachCommand calls fn with every row and every subcommand's row.
func (e *Engine) eachCommand(fn func(c *commands.Command)) {
	for _, c := range e.table.All() {
		fn(c)
		for i := range c.Subs {
			fn(&c.Subs[i])
		}
	}
}

// unsafeInInfo replaces the bytes that would break INFO's lines, as Redis does.
var unsafeInInfo = strings.NewReplacer("#", "_", ":", "_", "\n", "_", "\r", "_")

func infoErrorStats(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	e.stats.Errors.Each(func(code string, n int64) {
		w.put("errorstat_"+unsafeInInfo.Replace(code), "count="+strconv.FormatInt(n, 10))
	})
}

func infoLatencyStats(e *Engine, _ *infoFacts, _ *commands.Ctx, w *infoWriter) {
	if !e.cfg.Bool("latency-tracking") {
		return
	}
	percentiles := e.cfg.Strings("latency-tracking-info-percentiles")
	e.eachCommand(func(c *commands.Command) {
		l := e.stats.Latency(c)
		if !l.Timed() {
			return
		}
		shown := make([]string, len(percentiles))
		for i, p := range percentiles {
			percent, _ := strconv.ParseFloat(p, 64) // config has checked it
			shown[i] = fmt.Sprintf("p%s=%d.000", p, l.PercentileUs(percent))
		}
		w.put("latency_percentiles_usec_"+c.FullName(), strings.Join(shown, ","))
	})
}
