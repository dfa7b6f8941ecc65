package info

import (
	"math"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
)

// A Sample is the counters and the memory that the charts of the page show, as in fields of INFO.
type Sample struct {
	Us              int64 // server_time_usec
	Allowed, Denied int64 // limiter_allowed and limiter_denied
	Calls, CallsUs  int64 // calls and usec of all commands
	Used, Resident  int64 // used_memory and used_memory_rss
}

// Sample returns the present figures.
func (f *Facts) Sample() Sample {
	decisions := stats.Total(f.Stats.Decisions())
	s := Sample{
		Us: f.Clock.NowUs(), Allowed: decisions.Allowed, Denied: decisions.Denied,
		Used: f.Use().Used(), Resident: f.Memory().Resident,
	}
	f.Table.Each(func(c *commands.Command) {
		calls := f.Stats.Calls(c).Calls
		s.Calls += calls
		s.CallsUs += int64(math.Round(f.Stats.Latency(c).MeanUs() * float64(calls)))
	})
	return s
}
