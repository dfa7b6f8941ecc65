package latency

import (
	"fmt"
	"strings"
)

// Sizes of a graph in characters.
const (
	graphColumns = 80 // samples in one band, and the width of the line under the title
	graphRows    = 4
)

// graphLevels are the characters of the top of a column. A row has as many levels.
const graphLevels = "_o#"

// draw draws an event as LATENCY GRAPH of Redis does: a column for each sample,
// and below it how long ago it was, from top to bottom.
func draw(name string, e event, nowS int64) string {
	low, high := e.Samples[0].Ms, e.Samples[0].Ms
	for _, s := range e.Samples {
		low, high = min(low, s.Ms), max(high, s.Ms)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s - high %d ms, low %d ms (all time high %d ms)\n", name, high, low, e.MaxMs)
	b.WriteString(strings.Repeat("-", graphColumns) + "\n")
	for first := 0; first < len(e.Samples); first += graphColumns {
		if first > 0 {
			b.WriteByte('\n')
		}
		band := e.Samples[first:min(first+graphColumns, len(e.Samples))]
		drawBand(&b, band, low, high, nowS)
	}
	return b.String()
}

// drawBand draws the columns of some samples: the rows from the top, an empty one, and as
// many as the longest label has characters.
func drawBand(b *strings.Builder, samples []sample, low, high, nowS int64) {
	labels, longest := make([]string, len(samples)), 0
	for i, s := range samples {
		labels[i] = ago(nowS - s.UnixS)
		longest = max(longest, len(labels[i]))
	}
	const levels = int64(len(graphLevels))
	for row := range int64(graphRows) {
		below := (graphRows - 1 - row) * levels // levels of the rows below this one
		for _, s := range samples {
			level := min((s.Ms-low)*levels*graphRows/max(high-low, 1), levels*graphRows-1) - below
			switch {
			case level < 0:
				b.WriteByte(' ')
			case level < levels:
				b.WriteByte(graphLevels[level])
			default:
				b.WriteByte('|')
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat(" ", len(samples)) + "\n")
	for i := range longest {
		for _, label := range labels {
			if i < len(label) {
				b.WriteByte(label[i])
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
}

// ago returns a number of seconds in the largest unit that it fills.
func ago(seconds int64) string {
	for _, unit := range []struct {
		seconds int64
		name    string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}} {
		if seconds >= unit.seconds {
			return fmt.Sprintf("%d%s", seconds/unit.seconds, unit.name)
		}
	}
	return fmt.Sprintf("%ds", seconds)
}
