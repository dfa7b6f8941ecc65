package info

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/engine/memory"
)

// A row is one figure, or a family of them.
type row struct {
	// fields are the names of its lines in INFO, separated by spaces. Those of a family are followed by a
	// suffix. If it is empty, INFO does not show the row.
	fields  string
	read    func(f *Facts, put put) // nil: only Redis has the field
	shown   condition               // of INFO; nil: always
	metrics []*Metric
	note    Note
}

// put receives a value of a family: the suffix of its line in INFO, and the values of the metrics' labels.
type put func(suffix string, value any, labels ...string)

// hidden begins the suffix of values that only metrics show.
const hidden = "\n"

// An about is an optional part of a row.
type about interface{ add(r *row) }

// fact returns the row of one figure.
func fact(fields string, read func(f *Facts) any, parts ...about) row {
	return family(fields, func(f *Facts, put put) { put("", read(f)) }, parts...)
}

// family returns the row of a family.
func family(fields string, read func(f *Facts, put put), parts ...about) row {
	r := row{fields: fields, read: read}
	for _, p := range parts {
		p.add(&r)
	}
	return r
}

// always returns the row of fields whose value never changes.
func always(fields string, value any, parts ...about) row {
	return fact(fields, func(*Facts) any { return value }, parts...)
}

// condition reports whether INFO shows a row.
type condition func(f *Facts) bool

func (c condition) add(r *row) { r.shown = c }

// A Metric is a metric of Prometheus.
type Metric struct {
	Name, Help string
	Type       string // counter, gauge or histogram
	Labels     []string
	// keys are those of the pairs, or the suffixes of the lines, that it shows; nil: all. The key is the last
	// label if the row does not give that.
	keys []string
}

func (m Metric) add(r *row) { r.metrics = append(r.metrics, &m) }

// of returns the metric for some of the row's values.
func (m Metric) of(keys ...string) Metric {
	m.keys = keys
	return m
}

func counter(name, help string, labels ...string) Metric {
	return Metric{name, help, "counter", labels, nil}
}

func gauge(name, help string, labels ...string) Metric {
	return Metric{name, help, "gauge", labels, nil}
}

func histogram(name, help string, labels ...string) Metric {
	return Metric{name, help, "histogram", labels, nil}
}

// The types of values, besides int, int64, float64, string, bool (1 or 0) and Histogram. INFO shows bytes
// twice, the second time for people.
type (
	bytes   int64
	usec    int64                      // microseconds; metrics show seconds
	pairs   []pair                     // "keys=1,hits=2" in INFO
	ratio   float64                    // INFO shows two digits
	percent float64                    // the same with a percent sign
	word    struct{ text, metric any } // different values for INFO and metrics; nil: metrics have none
	pair    struct {
		key   string
		value any
	}
)

// writeTo writes the lines of the row.
func (r *row) writeTo(b *strings.Builder, f *Facts) {
	if r.read == nil || r.shown != nil && !r.shown(f) {
		return
	}
	for field := range strings.FieldsSeq(r.fields) {
		r.read(f, func(suffix string, value any, _ ...string) {
			if strings.HasPrefix(suffix, hidden) {
				return
			}
			fmt.Fprintf(b, "%s%s:%s\r\n", field, suffix, text(value))
			if n, ok := value.(bytes); ok {
				fmt.Fprintf(b, "%s%s_human:%s\r\n", field, suffix, memory.Human(int64(n)))
			}
		})
	}
}

// text returns a value as INFO shows it.
func text(value any) string {
	switch v := value.(type) {
	case bool:
		return fmt.Sprint(sample(v))
	case ratio:
		return strconv.FormatFloat(float64(v), 'f', 2, 64)
	case percent:
		return text(ratio(v)) + "%"
	case word:
		return text(v.text)
	case pairs:
		shown := make([]string, len(v))
		for i, p := range v {
			shown[i] = p.key + "=" + text(p.value)
		}
		return strings.Join(shown, ",")
	}
	return fmt.Sprint(value)
}
