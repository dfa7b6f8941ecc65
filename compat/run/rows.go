package main

import (
	"fmt"
	"slices"
	"strings"
)

// issueFlows are the required flows, in the order and with the
// numbers of its first issue. A run of all clients must contain each of them.
var issueFlows = []struct {
	name   string
	number int
	// noLimit marks a flow that, as its document writes it, need not deny. Any other
	// run without a change of decision proves nothing and is a failure.
	noLimit bool
}{
	{"commands-seconds", 1, false},
	{"template-unique", 2, false},
	{"template-constant", 2, true},
	{"script-millis", 3, false},
	{"aspect-http", 4, false},
	{"multi-as-written", 5, true},
	{"multi-session", 5, false},
	{"pipeline-multi", 6, false},
	{"pipeline-collision", 6, false},
	{"pipeline-lua", 6, false},
	{"script-seconds", 7, false},
	{"rolling", 7, false},
	{"hash-tag", 8, false},
}

func flowOrder(flow string) int {
	for i, f := range issueFlows {
		if f.name == flow {
			return i
		}
	}
	return len(issueFlows)
}

func flowLabel(flow string) string {
	if i := flowOrder(flow); i < len(issueFlows) {
		return fmt.Sprintf("%d %s", issueFlows[i].number, flow)
	}
	return "- " + flow
}

// An outcome is the result of one client's programs against one server.
type outcome struct {
	transcript transcript
	// Why the run cannot be trusted; nil if the program exited with 0 and its output was understood.
	err error
}

// clientRows turns a client's two outcomes into rows, one for each flow that either
// side ran or that was expected. A program that failed outside of its flows gets a row
// of its own, so that no failure is lost.
func clientRows(c client, ours, theirs outcome) []row {
	label := c.label(ours.transcript.client, theirs.transcript.client)
	flows := slices.Clone(c.expected)
	for _, s := range slices.Concat(ours.transcript.sections, theirs.transcript.sections) {
		if !slices.Contains(flows, s.flow) {
			flows = append(flows, s.flow)
		}
	}
	rows := make([]row, 0, len(flows))
	for _, flow := range flows {
		rows = append(rows, flowRow(flow, label, ours, theirs))
	}
	if (ours.err != nil || theirs.err != nil) && failures(rows) == 0 {
		rows = append(rows, row{flow: "-", client: label, verdict: notRun, detail: reasons(ours, theirs)})
	}
	return rows
}

func flowRow(flow, label string, ours, theirs outcome) row {
	a, okA := ours.transcript.section(flow)
	b, okB := theirs.transcript.section(flow)
	r := row{
		flow: flowLabel(flow), client: label, ours: condense(a.hits), theirs: condense(b.hits),
		verdict: same,
	}
	if !okA || !okB || !a.complete || !b.complete || len(a.hits) == 0 || len(b.hits) == 0 {
		r.verdict = notRun
		r.detail = append(sectionState("zlimit", a, okA), sectionState("Redis", b, okB)...)
		r.detail = append(r.detail, reasons(ours, theirs)...)
		return r
	}
	if differences := compare(a.hits, b.hits); len(differences) > 0 {
		r.verdict = different
		for _, d := range differences {
			r.detail = append(r.detail, fmt.Sprintf("hit %d", d.number), "  zlimit "+orNothing(d.ours),
				"  Redis  "+orNothing(d.theirs))
		}
		return r
	}
	if i := flowOrder(flow); (i == len(issueFlows) || !issueFlows[i].noLimit) && !crossed(b.hits) {
		r.verdict = notCrossed
		r.detail = []string{"every hit has the same decision, so the flow shows nothing"}
	}
	return r
}

func crossed(hits []hit) bool {
	return slices.ContainsFunc(hits, func(h hit) bool {
		return h.decision != hits[0].decision && !slices.Contains(noDecisions, h.decision)
	})
}

// noDecisions are lines of a library's run that do not stand for one call.
var noDecisions = []string{"broken", "crowd", "crowd-unpromised"}

func sectionState(server string, s section, ok bool) []string {
	switch {
	case !ok:
		return []string{server + ": the flow is missing"}
	case !s.complete:
		return []string{fmt.Sprintf("%s: broke off after %d hits", server, len(s.hits))}
	case len(s.hits) == 0:
		return []string{server + ": no hits"}
	}
	return nil
}

func reasons(ours, theirs outcome) []string {
	var lines []string
	for _, side := range []struct {
		name string
		err  error
	}{{"zlimit", ours.err}, {"Redis", theirs.err}} {
		if side.err != nil {
			lines = append(lines, strings.Split(side.name+": "+side.err.Error(), "\n")...)
		}
	}
	return lines
}

func orNothing(line string) string {
	if line == "" {
		return "(nothing)"
	}
	return line
}

// sortRows sorts by flow and keeps the order of clients.
func sortRows(rows []row) {
	order := func(r row) int {
		_, name, _ := strings.Cut(r.flow, " ")
		return flowOrder(name)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return order(a) - order(b) })
}
