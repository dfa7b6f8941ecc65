package info

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

func writeCommandStats(f *Facts, w *writer) {
	f.Table.Each(func(c *commands.Command) {
		n := f.Stats.Calls(c)
		if n.Calls+n.Rejected == 0 {
			return
		}
		perCall := f.Stats.Latency(c).MeanUs()
		w.put("cmdstat_"+c.FullName(),
			fmt.Sprintf("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
				n.Calls, perCall*float64(n.Calls), perCall, n.Rejected, n.Failed))
	})
}

// unsafeBytes replaces the bytes that would break INFO's lines, as Redis does.
var unsafeBytes = strings.NewReplacer("#", "_", ":", "_", "\n", "_", "\r", "_")

func writeErrorStats(f *Facts, w *writer) {
	f.Stats.Errors.Each(func(code string, n int64) {
		w.put("errorstat_"+unsafeBytes.Replace(code), "count="+strconv.FormatInt(n, 10))
	})
}

func writeLatencyStats(f *Facts, w *writer) {
	if !f.Config.Bool("latency-tracking") {
		return
	}
	percentiles := f.Config.Strings("latency-tracking-info-percentiles")
	f.Table.Each(func(c *commands.Command) {
		l := f.Stats.Latency(c)
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
