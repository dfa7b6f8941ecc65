package info

import (
	"fmt"
	"slices"
	"strconv"
)

// A Histogram is a value whose Buckets are cumulative, by upper bound.
type Histogram struct {
	Count   uint64
	Sum     float64
	Buckets map[float64]uint64
}

// Metrics returns all metrics.
func Metrics() (all []*Metric) {
	for _, s := range sections {
		for _, r := range s.rows {
			all = append(all, r.metrics...)
		}
	}
	return all
}

// Samples calls visit with the values of all metrics. A value is a float64 or a Histogram.
func (f *Facts) Samples(visit func(m *Metric, value any, labels ...string)) {
	for _, s := range sections {
		for _, r := range s.rows {
			if len(r.metrics) == 0 {
				continue
			}
			r.read(f, func(suffix string, value any, labels ...string) {
				parts, ok := value.(pairs)
				if !ok {
					parts = pairs{{suffix, value}}
				}
				for _, m := range r.metrics {
					for _, p := range parts {
						if m.keys != nil && !slices.Contains(m.keys, p.key) {
							continue
						}
						if v := sample(p.value); v != nil {
							visit(m, v, append(slices.Clip(labels), p.key)[:len(m.Labels)]...)
						}
					}
				}
			})
		}
	}
}

// sample returns what metrics show of a value, or nil.
func sample(value any) any {
	switch v := value.(type) {
	case nil, Histogram:
		return v
	case word:
		return sample(v.metric)
	case bool:
		if v {
			return 1.0
		}
		return 0.0
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case bytes:
		return float64(v)
	case usec:
		return float64(v) / 1e6
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n
		}
		return nil
	}
	panic(fmt.Sprintf("info: a metric cannot show %T", value))
}
