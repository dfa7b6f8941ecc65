package sentinel

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var failovers = flag.Int("failovers", 0, "failovers of each kind that TestFailovers measures")

// TestFailovers measures sets of zlimit-server and of redis-server in turn, so that what
// else the machine does meets both. Each failover has servers and sentinels of its own.
func TestFailovers(t *testing.T) {
	if *failovers == 0 {
		t.Skip("it measures for minutes what the other tests check once: run with -failovers N")
	}
	var table strings.Builder
	table.WriteString("| failover " + header)
	for _, f := range []fault{killed, stopped, asked, cutOff, cutOffAlone} {
		outcomes := map[string][]outcome{}
		for n := range *failovers {
			for _, program := range []string{zlimit, redis7} {
				t.Run(fmt.Sprintf("%s/%s/%d", f, program, n), func(t *testing.T) {
					algorithms := both
					if program == redis7 {
						algorithms = []algorithm{script, script}
					}
					s := startSet(t, f.layout(program))
					outcomes[program] = append(outcomes[program], s.failover(t, f, algorithms, nothing))
				})
			}
		}
		for _, program := range []string{zlimit, redis7} {
			table.WriteString(row(string(f), program, outcomes[program]))
		}
	}
	fmt.Printf("\nMedians (maxima) over %d failovers of each kind\n\n%s\n", *failovers, table.String())
}

const header = "| servers | seconds without an answer | errors of a client | units lost | " +
	"though one replica had confirmed | above the limit |\n|---|---|---|---|---|---|---|\n"

// row returns a line of a table.
func row(name, program string, all []outcome) string {
	if len(all) == 0 {
		return fmt.Sprintf("| %s | %s | none was measured |\n", name, program)
	}
	silences := column(all, func(o outcome) []float64 { return []float64{o.silence.Seconds()} })
	errs := column(all, func(o outcome) []float64 { return []float64{o.errors} })
	units := column(all, func(o outcome) []int { return o.lost })
	confirmed := column(all, func(o outcome) []int { return o.lostOfOne })
	straddled := column(all, func(o outcome) []int { return []int{o.straddled} })
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", name, program,
		cell("%.2f", silences), cell("%.0f", errs), cell("%d", units), cell("%d", confirmed),
		cell("%d", straddled))
}

// cell returns the median and the maximum.
func cell[T cmp.Ordered](format string, values []T) string {
	if len(values) == 0 {
		return "not asked for"
	}
	return fmt.Sprintf(format+" ("+format+")", median(values), slices.Max(values))
}

// column returns what each outcome has in a column.
func column[T any](all []outcome, of func(outcome) []T) []T {
	var out []T
	for _, o := range all {
		out = append(out, of(o)...)
	}
	return out
}

// median returns the upper one of two.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
