package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// LATENCY HISTOGRAM [command [command ...]]
//
// Of a container the subcommands are shown. Names that are no commands are ignored.
func (e *Engine) latencyHistogram(c *commands.Ctx) resp.Value {
	caller(c).flush()
	var out []resp.Value
	add := func(cmd *commands.Command) {
		if h := e.histogram(cmd); h.Kind() == resp.KindMap {
			out = append(out, resp.Bulk(cmd.FullName()), h)
		}
	}
	if len(c.Args) == 2 {
		e.table.Each(add)
	}
	for _, name := range c.Args[2:] {
		cmd := e.table.Find(name)
		if cmd == nil {
			continue
		}
		add(cmd)
		for i := range cmd.Subs {
			add(&cmd.Subs[i])
		}
	}
	return resp.Map(out...)
}

// histogramBuckets is how many buckets a histogram has. The last one has longer calls,
// too.
const histogramBuckets = 21

// bucketUs returns the upper end of a bucket in Redis' histograms: the longest duration
// that they do not tell from 2^i times 1024 ns, in whole microseconds.
func bucketUs(i int) int64 {
	const precision = 7 // bits of a duration, after the highest, that Redis keeps
	ns := int64(1) << (10 + i)
	return (ns + ns>>precision - 1) / 1000
}

// histogram returns the entry of a command, or resp.None if no call was timed. What was
// timed is a sample, so its counts are scaled to the number of calls.
func (e *Engine) histogram(cmd *commands.Command) resp.Value {
	timed := int64(0)
	var counts [histogramBuckets]int64
	for i, n := range e.stats.Latency(cmd).Buckets() {
		counts[min(i, histogramBuckets-1)] += n
		timed += n
	}
	if timed == 0 {
		return resp.None
	}
	calls := max(e.stats.Calls(cmd).Calls, timed)
	var buckets []resp.Value
	sum := int64(0)
	for i, n := range counts {
		if sum += n; n > 0 {
			scaled := int64(float64(calls) * (float64(sum) / float64(timed)))
			buckets = append(buckets, resp.Int(bucketUs(i)), resp.Int(scaled))
		}
	}
	return resp.Map(resp.Bulk("calls"), resp.Int(calls), resp.Bulk("histogram_usec"), resp.Map(buckets...))
}
