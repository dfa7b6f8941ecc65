package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A row is a flow run by one client against both servers.
type row struct {
	flow, client string
	ours, theirs string // decisions, condensed
	verdict      verdict
	detail       []string // lines below the table if the verdict is not same
}

type verdict string

const (
	same       verdict = "same"
	different  verdict = "NOT THE SAME"
	notRun     verdict = "COULD NOT RUN"
	notCrossed verdict = "LIMIT NOT CROSSED"
)

// A layout describes the table's columns. Each row has as many cells as the header. The
// last three are the decisions of zlimit and Redis, and the verdict.
type layout struct {
	intro  string // the page's text before the table
	brief  bool   // the page has merged lines; its details have what differs
	header []string
	cells  func(row) []string
}

var flowLayout = layout{
	header: []string{"flow", "client", "zlimit", "Redis", "same or not"},
	cells: func(r row) []string {
		return []string{r.flow, r.client, r.ours, r.theirs, string(r.verdict)}
	},
}

// condense shortens decisions for reading: + and - one by one, or counted if there are
// many.
func condense(hits []hit) string {
	const plain = 32
	type run struct {
		mark  string
		count int
	}
	var runs []run
	short := len(hits) <= plain
	for _, h := range hits {
		mark := h.decision
		switch h.decision {
		case "allowed":
			mark = "+"
		case "denied":
			mark = "-"
		default:
			short = false
		}
		if len(runs) > 0 && runs[len(runs)-1].mark == mark {
			runs[len(runs)-1].count++
		} else {
			runs = append(runs, run{mark, 1})
		}
	}
	var parts []string
	for _, r := range runs {
		switch {
		case short:
			parts = append(parts, strings.Repeat(r.mark, r.count))
		case r.mark == "+" || r.mark == "-":
			parts = append(parts, fmt.Sprintf("%s%d", r.mark, r.count))
		case r.count == 1:
			parts = append(parts, r.mark)
		default:
			parts = append(parts, fmt.Sprintf("%s x%d", r.mark, r.count))
		}
	}
	if short {
		return strings.Join(parts, "")
	}
	return strings.Join(parts, " ")
}

// writeText prints the table with aligned columns, the rows that need attention in
// full, and a summary line.
func (l layout) writeText(w io.Writer, rows []row) {
	widths := make([]int, len(l.header))
	lines := [][]string{l.header}
	for _, r := range rows {
		lines = append(lines, l.cells(r))
	}
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
	for _, r := range rows {
		if r.verdict == same {
			continue
		}
		fmt.Fprintf(w, "\n%s, %s: %s\n", r.flow, r.client, r.verdict)
		for _, line := range r.detail {
			fmt.Fprintln(w, "  "+line)
		}
	}
	fmt.Fprintf(w, "\n%s\n", summary(rows))
}

// writeMarkdown writes the same as a page.
func (l layout) writeMarkdown(w io.Writer, rows []row) {
	writeLine := func(cells []string) {
		escaped := make([]string, len(cells))
		for i, cell := range cells {
			escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(escaped, " | "))
	}
	lines := [][]string{l.header}
	for _, r := range rows {
		cells := l.cells(r)
		for _, i := range []int{len(cells) - 3, len(cells) - 2} {
			if cells[i] != "" {
				cells[i] = "`" + cells[i] + "`"
			}
		}
		lines = append(lines, cells)
	}
	if l.brief {
		lines = merged(lines)
	}
	fmt.Fprint(w, l.intro)
	for i, cells := range lines {
		if writeLine(cells); i == 0 {
			fmt.Fprintln(w, "|"+strings.Repeat("---|", len(cells)))
		}
	}
	for _, r := range rows {
		if r.verdict == same {
			continue
		}
		fmt.Fprintf(w, "\n%s, %s: %s\n\n```\n%s\n```\n", r.flow, r.client, r.verdict,
			strings.Join(r.detail, "\n"))
	}
	fmt.Fprintf(w, "\n%s\n", summary(rows))
}

// merged returns lines without decisions and verdicts. Neighbours that differ in the third cell only are one.
func merged(lines [][]string) (out [][]string) {
	for _, cells := range lines {
		cells = slices.Clone(cells[:len(cells)-3])
		if n := len(out); n > 0 && len(cells) > 2 && slices.Equal(out[n-1][:2], cells[:2]) &&
			slices.Equal(out[n-1][3:], cells[3:]) {
			out[n-1][2] += ", " + cells[2]
			continue
		}
		out = append(out, cells)
	}
	return out
}

func summary(rows []row) string {
	failed := failures(rows)
	if failed == 0 {
		return fmt.Sprintf("%d rows, all the same", len(rows))
	}
	return fmt.Sprintf("%d rows, %d to look at", len(rows), failed)
}

func failures(rows []row) int {
	count := 0
	for _, r := range rows {
		if r.verdict != same {
			count++
		}
	}
	return count
}
