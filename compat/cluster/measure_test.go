package cluster

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rounds is how often TestFaults brings each fault about.
var rounds = flag.Int("rounds", 0, "how often TestFaults measures each fault; 0: not at all")

// TestFaults measures: it brings one fault about after the other, and logs lines of a table, with the median
// of the rounds and the worst.
func TestFaults(t *testing.T) {
	if *rounds == 0 {
		t.Skip("it measures for minutes what TestFault checks once: run with -rounds N")
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			var all []outcome
			for i := range *rounds {
				t.Run(fmt.Sprint(i+1), func(t *testing.T) {
					out := f.quick().run(t)
					t.Log(out)
					all = append(all, out)
				})
			}
			t.Log(tableLine(f.name, all))
		})
	}
}

// tableLine returns a line in Markdown.
func tableLine(name string, all []outcome) string {
	seconds := func(of func(outcome) time.Duration) string {
		middle, worst := spread(all, of)
		return fmt.Sprintf("%.2f (%.2f) s", middle.Seconds(), worst.Seconds())
	}
	count := func(of func(outcome) int) string {
		middle, worst := spread(all, of)
		return fmt.Sprintf("%d (%d)", middle, worst)
	}
	failed := func(o outcome) (n int) {
		for _, count := range o.errors {
			n += count
		}
		return n
	}
	return "| " + strings.Join([]string{
		name,
		seconds(func(o outcome) time.Duration { return o.longest }),
		seconds(func(o outcome) time.Duration { return o.silence }),
		seconds(func(o outcome) time.Duration { return o.others }),
		count(func(o outcome) int { return o.calls }),
		count(failed),
		count(func(o outcome) int { return int(o.lost) }),
		count(func(o outcome) int { return max(0, o.excess) }),
	}, " | ") + " |"
}

// spread returns the median and the highest of a figure.
func spread[T cmp.Ordered](all []outcome, of func(outcome) T) (middle, worst T) {
	var values []T
	for _, o := range all {
		values = append(values, of(o))
	}
	slices.Sort(values)
	if len(values) == 0 {
		return middle, worst
	}
	return values[len(values)/2], values[len(values)-1]
}

func TestTableLine(t *testing.T) {
	got := tableLine("x", []outcome{
		{longest: 3 * time.Second, lost: 5, errors: map[string]int{"A": 1, "B": 2}, excess: -40},
		{lost: 7},
		{},
	})
	require.Equal(t,
		"| x | 0.00 (3.00) s | 0.00 (0.00) s | 0.00 (0.00) s | 0 (0) | 0 (3) | 5 (7) | 0 (0) |", got)
}
