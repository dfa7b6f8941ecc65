package exporter

import (
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// volatile are the labels whose values no two servers share.
var volatile = map[string]bool{
	"id": true, "master_replid": true, "process_id": true, "run_id": true, "tcp_port": true,
}

// volatileConfig are the directives, in the label key, whose values no two servers share.
var volatileConfig = map[string]bool{"dir": true, "port": true}

// sameValue are the metrics whose values follow from the load.
var sameValue = map[string]bool{
	"redis_commands_failed_calls_total":   true,
	"redis_commands_rejected_calls_total": true,
	"redis_commands_total":                true,
	"redis_config_value":                  true,
	"redis_connected_clients":             true,
	"redis_db_keys":                       true,
	"redis_db_keys_expiring":              true,
	"redis_errors_total":                  true,
	"redis_key_group_count":               true,
	"redis_key_size":                      true,
	"redis_key_value":                     true,
	"redis_keys_count":                    true,
	"redis_keyspace_hits_total":           true,
	"redis_keyspace_misses_total":         true,
	"redis_up":                            true,
}

// readSeries returns the series of a scrape in the text format, sorted by name. The
// buckets of a histogram are left out, because they depend on how long calls took.
func readSeries(scrape io.Reader) ([]string, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(scrape)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var all []string
	for name, f := range families {
		for _, m := range f.Metric {
			for _, s := range seriesOf(name, f.GetType(), m) {
				if !seen[s] {
					seen[s] = true
					all = append(all, s)
				}
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// seriesOf returns one line for a metric, or one for each quantile of a summary.
func seriesOf(name string, kind dto.MetricType, m *dto.Metric) []string {
	hideConfig := slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool {
		return l.GetName() == "key" && volatileConfig[l.GetValue()]
	})
	hideConfig = hideConfig && strings.HasPrefix(name, "redis_config_")
	var labels []string
	for _, l := range m.Label {
		value := l.GetValue()
		if volatile[l.GetName()] || hideConfig && l.GetName() == "value" {
			value = "*"
		}
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), value))
	}
	slices.Sort(labels)
	switch value, ok := single(kind, m); {
	case kind == dto.MetricType_SUMMARY:
		out := []string{line(name, labels)}
		for _, q := range m.GetSummary().GetQuantile() {
			quantile := fmt.Sprintf("quantile=\"%g\"", q.GetQuantile())
			out = append(out, line(name, append(slices.Clone(labels), quantile)))
		}
		return out
	case ok && sameValue[name] && !hideConfig:
		return []string{fmt.Sprintf("%s = %g", line(name, labels), value)}
	}
	return []string{line(name, labels)}
}

// single returns the value of a metric that has one.
func single(kind dto.MetricType, m *dto.Metric) (value float64, ok bool) {
	switch kind {
	case dto.MetricType_COUNTER:
		return m.GetCounter().GetValue(), true
	case dto.MetricType_GAUGE:
		return m.GetGauge().GetValue(), true
	case dto.MetricType_UNTYPED:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}

func line(name string, labels []string) string {
	if len(labels) == 0 {
		return name
	}
	return name + "{" + strings.Join(labels, ",") + "}"
}
