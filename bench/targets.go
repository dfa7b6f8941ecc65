package main

import (
	"fmt"
	"strings"
)

var targetColumns = []string{"target of", "what", "target", "is", ""}

// targets returns a line for each comparison that has a floor: the target as it is put,
// the figure, and whether it was met.
func (rep *report) targets() (lines [][]string) {
	for i := range rep.Rows {
		if res := &rep.Rows[i]; res.Floor > 0 {
			lines = append(lines, res.target())
		}
	}
	return lines
}

func (res *result) target() []string {
	by := "figure"
	switch {
	case res.CPURatio != nil:
		by = "processor time a call"
	case res.Unit == "/s":
		by = "throughput"
	}
	is := res.judged().OfMedians
	verdict := "met"
	if res.Missed {
		verdict = "MISSED"
	}
	if res.AtMost > 0 {
		return []string{
			res.Name, by, fmt.Sprintf("at most %.2f times %s's", res.AtMost, res.Reference.Name),
			fmt.Sprintf("%.2f", 1/is), verdict,
		}
	}
	return []string{
		res.Name, by, fmt.Sprintf("at least %.2f times as good as %s", res.Floor, res.Reference.Name),
		fmt.Sprintf("%.2f", is), verdict,
	}
}

// aligned formats a table for a terminal.
func aligned(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var out strings.Builder
	for _, cells := range table {
		var l strings.Builder
		for i, cell := range cells {
			fmt.Fprintf(&l, "%-*s  ", widths[i], cell)
		}
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return out.String()
}

// piped formats a table in Markdown.
func piped(titles []string, table [][]string) string {
	out := "| " + strings.Join(titles, " | ") + " |\n|" + strings.Repeat("---|", len(titles)) + "\n"
	for _, cells := range table {
		out += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return out
}
