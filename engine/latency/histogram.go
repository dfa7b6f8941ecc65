package latency

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
)

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

// Histogram returns the entry of a command in LATENCY HISTOGRAM, or resp.None if no call was timed. What was
// timed is a sample, so its counts are scaled to the number of calls.
func Histogram(all *stats.Stats, cmd *commands.Command) resp.Value {
	timed := int64(0)
	var counts [histogramBuckets]int64
	for i, n := range all.Latency(cmd).Buckets() {
		counts[min(i, histogramBuckets-1)] += n
		timed += n
	}
	if timed == 0 {
		return resp.None
	}
	calls := max(all.Calls(cmd).Calls, timed)
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
