package sentinel

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var failovers = flag.Int("failovers", 0, "failovers of each kind that TestFailovers measures")

// TestFailovers measures sets of zlimit-server and of redis-server in turn, so that what
// else the machine does meets both. Each failover has servers and sentinels of its own.
func TestFailovers(t *testing.T) {
	if *failovers == 0 {
		t.Skip("-failovers N measures N failovers of each kind")
	}
	var table strings.Builder
	table.WriteString("| failover | servers | without an answer | longest | errors of a client | " +
		"units lost | of RL.ALLOW | above the limit across the failover |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range []fault{killed, paused, asked} {
		outcomes := map[string][]outcome{}
		for n := range *failovers {
			for _, program := range []string{zlimit, redis7} {
				t.Run(fmt.Sprintf("%s/%s/%d", f, program, n), func(t *testing.T) {
					algorithms := onlyScript
					if program == zlimit {
						algorithms = both
					}
					s := startSet(t, layout{programs: []string{program, program, program}})
					outcomes[program] = append(outcomes[program], s.failover(t, f, algorithms, nothing))
				})
			}
		}
		for _, program := range []string{zlimit, redis7} {
			table.WriteString(row(f, program, outcomes[program]))
		}
	}
	fmt.Printf("\nMedians over %d failovers of each kind\n\n%s\n", *failovers, table.String())
}

// row returns a line of the table.
func row(f fault, program string, all []outcome) string {
	if len(all) == 0 {
		return fmt.Sprintf("| %s | %s | none was measured |\n", f, program)
	}
	silences := column(all, func(o outcome) time.Duration { return o.silence })
	lostOf := func(a algorithm) string {
		if all[0].admitted[a] == 0 {
			return ""
		}
		units := column(all, func(o outcome) int { return o.lost[a] })
		return fmt.Sprintf("%d (at most %d)", median(units), slices.Max(units))
	}
	straddled := column(all, func(o outcome) int { return o.straddled })
	return fmt.Sprintf("| %s | %s | %.2f s | %.2f s | %.0f | %s | %s | %d (at most %d) |\n", f, program,
		median(silences).Seconds(), slices.Max(silences).Seconds(),
		median(column(all, func(o outcome) float64 { return o.errors })),
		lostOf(script), lostOf(rlAllow), median(straddled), slices.Max(straddled))
}

func column[T any](all []outcome, of func(outcome) T) []T {
	out := make([]T, len(all))
	for i, o := range all {
		out[i] = of(o)
	}
	return out
}

// median returns the upper one of two.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
