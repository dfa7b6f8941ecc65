package process

import (
	"fmt"
	"runtime/metrics"
	"strings"
)

// MemoryReport returns the figures of Go's runtime about memory and its collection, one a line, sorted by
// name. It stops no goroutine.
func MemoryReport() string {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		scalar := d.Kind == metrics.KindUint64 || d.Kind == metrics.KindFloat64
		if scalar && (strings.HasPrefix(d.Name, "/memory/") || strings.HasPrefix(d.Name, "/gc/")) {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	var b strings.Builder
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			fmt.Fprintf(&b, "%-50s %d\n", s.Name, s.Value.Uint64())
		} else {
			fmt.Fprintf(&b, "%-50s %g\n", s.Name, s.Value.Float64())
		}
	}
	return b.String()
}
