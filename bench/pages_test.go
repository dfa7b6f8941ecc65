package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of README.md and docs/performance.md anew")

const (
	tableBegin = "<!-- bench -->\n"
	tableEnd   = "<!-- /bench -->\n"
)

// lastRun reads docs/performance.json, which go run ./bench --json has written.
func lastRun(t *testing.T) (rep report) {
	t.Helper()
	text, err := os.ReadFile("../docs/performance.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &rep))
	require.Greater(t, len(rep.Rows), 40)
	return rep
}

// listTable returns the table of docs/performance.md.
func listTable(rep report) string {
	var table [][]string
	for i := range rep.Rows {
		res := &rep.Rows[i]
		r, throughput, floor := res.judged(), "", ""
		ratio := fmt.Sprintf("%.2f", r.OfMedians)
		if r.Min < r.Max {
			ratio += fmt.Sprintf(" (%.2f-%.2f)", r.Min, r.Max)
		}
		if res.CPURatio != nil {
			throughput = fmt.Sprintf("%.2f", res.Ratio.OfMedians)
		}
		if res.Floor > 0 {
			floor = fmt.Sprintf("%.2f", res.Floor)
		}
		if res.Missed {
			floor += " missed"
		}
		ours, reference := res.figures()
		table = append(table, []string{
			res.Name, ratio, ours + ", " + res.Reference.Name + " " + reference, throughput, floor,
		})
	}
	above, _ := rep.about()
	return strings.Join(above, "\n") + "\n\n" + piped([]string{
		"row", "ratio (pairs of rounds)", "ours, other", "throughput", "floor",
	}, table)
}

// readmeTable returns the table of README.md.
func readmeTable(rep report) string {
	var table [][]string
	for _, line := range []struct{ row, about string }{
		{"allow-1", "RL.ALLOW beside the script, unpipelined"},
		{"allow-16", "RL.ALLOW beside the script, pipelined by 16"},
		{"evalsha-1", "the script on both, unpipelined"},
		{"evalsha-16", "the script on both, pipelined by 16"},
		{"memory-10", "memory of a key with ten hits"},
	} {
		for i := range rep.Rows {
			if res := &rep.Rows[i]; res.Name == line.row {
				ours, reference := res.figures()
				table = append(table, []string{
					line.about, ours, reference, fmt.Sprintf("%.1f", res.judged().OfMedians),
				})
			}
		}
	}
	above, _ := rep.about()
	return piped([]string{strings.Join(above[:2], " "), "zlimit", "redis-server", "ratio"}, table)
}

// piped formats a table in Markdown.
func piped(titles []string, table [][]string) string {
	out := "| " + strings.Join(titles, " | ") + " |\n|" + strings.Repeat("---|", len(titles)) + "\n"
	for _, cells := range table {
		out += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return out
}

// filled returns a page with the table between its marks.
func filled(t *testing.T, page, table string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, tableBegin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok)
	return before + tableBegin + table + tableEnd + after
}

// TestPages compares the tables of pages with the recorded run.
func TestPages(t *testing.T) {
	rep := lastRun(t)
	for page, table := range map[string]string{
		"../README.md": readmeTable(rep), "../docs/performance.md": listTable(rep),
	} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		want := filled(t, string(text), table)
		if *rewrite {
			require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
			continue
		}
		require.True(t, want == string(text), "%s is old: run go test ./bench -run Pages -rewrite", page)
	}
}

// TestPagesFollowTheRecord checks that another figure of each row that a page shows changes the page.
func TestPagesFollowTheRecord(t *testing.T) {
	rep := lastRun(t)
	list, readme := listTable(rep), readmeTable(rep)
	require.Equal(t, 2+5, strings.Count(readme, "\n"), "a row of README.md was not recorded")
	for i := range rep.Rows {
		res := &rep.Rows[i]
		res.Ratio.OfMedians++
		if res.CPURatio != nil {
			res.CPURatio.OfMedians++
		}
	}
	require.NotEqual(t, list, listTable(rep))
	require.NotEqual(t, readme, readmeTable(rep))
	list, rep.Commit = listTable(rep), "other"
	require.NotEqual(t, list, listTable(rep), "the page says which commit was measured")
}
