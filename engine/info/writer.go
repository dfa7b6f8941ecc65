package info

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/engine/memory"
)

// A writer collects "field:value" lines.
type writer struct{ b strings.Builder }

func (w *writer) put(field string, value any) {
	fmt.Fprintf(&w.b, "%s:%v\r\n", field, value)
}

func (w *writer) seconds(field string, us int64) {
	w.put(field, fmt.Sprintf("%d.%06d", us/1_000_000, us%1_000_000))
}

func (w *writer) kilobytes(field string, n int64) {
	w.put(field, fmt.Sprintf("%.2f", float64(n)/1024))
}

// bytes writes a number of bytes twice: as it is, and for people.
func (w *writer) bytes(field string, n int64) { w.bytesAs(field, n, func() {}) }

// bytesAs is bytes with other fields in between.
func (w *writer) bytesAs(field string, n int64, between func()) {
	w.put(field, n)
	between()
	w.put(field+"_human", memory.Human(n))
}

func (w *writer) percent(field string, part, whole int64) {
	w.put(field, fmt.Sprintf("%.2f%%", memory.Ratio(part, whole)*100))
}

func (w *writer) ratio(field string, a, b int64) {
	w.put(field, fmt.Sprintf("%.2f", memory.Ratio(a, b)))
}
