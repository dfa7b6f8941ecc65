package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/info"
)

// A collector reads an engine at each scrape. It acquires no lock of the keyspace.
type collector struct {
	engine *engine.Engine
	descs  map[*info.Metric]*prometheus.Desc
}

func newCollector(e *engine.Engine) collector {
	c := collector{e, make(map[*info.Metric]*prometheus.Desc)}
	for _, m := range info.Metrics() {
		c.descs[m] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	c.engine.Facts().Samples(func(m *info.Metric, value any, labels ...string) {
		d := c.descs[m]
		if h, ok := value.(info.Histogram); ok {
			ch <- prometheus.MustNewConstHistogram(d, h.Count, h.Sum, h.Buckets, labels...)
			return
		}
		kind := prometheus.GaugeValue
		if m.Type == "counter" {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(d, kind, value.(float64), labels...)
	})
}
