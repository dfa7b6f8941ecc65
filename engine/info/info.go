package info

import (
	"slices"
	"strings"
)

// A section is one section of INFO.
type section struct {
	name  string // lower case
	extra bool   // shown only by name, or with all and everything
	rows  []row
}

// sections are Redis' sections in Redis' order, then ours.
var sections = []section{
	{name: "server", rows: serverRows},
	{name: "clients", rows: clientRows},
	{name: "memory", rows: memoryRows},
	{name: "persistence", rows: persistenceRows},
	{name: "stats", rows: statRows},
	{name: "replication", rows: replicationRows},
	{name: "cpu", rows: cpuRows},
	{name: "modules"},
	{name: "commandstats", extra: true, rows: commandRows},
	{name: "errorstats", rows: errorRows},
	{name: "latencystats", extra: true, rows: latencyRows},
	{name: "cluster", rows: []row{fact("cluster_enabled", func(f *Facts) any {
		if f.Config.Bool("cluster-enabled") {
			return 1
		}
		return 0
	})}},
	{name: "keyspace", rows: keyspaceRows},
	{name: "limiter", rows: limiterRows},
	{name: "upstream", rows: upstreamRows},
}

// title returns the section's heading.
func (s *section) title() string {
	if s.name == "cpu" {
		return "CPU"
	}
	return strings.ToUpper(s.name[:1]) + s.name[1:]
}

// A Report is the sections that a call of INFO shows.
type Report struct{ sections []*section }

// NewReport returns the report for the arguments of INFO.
func NewReport(args [][]byte) (r Report) {
	named := map[string]bool{"default": len(args) == 0}
	for _, a := range args {
		named[strings.ToLower(string(a))] = true
	}
	all := named["all"] || named["everything"]
	for i := range sections {
		if s := &sections[i]; all || named["default"] && !s.extra || named[s.name] {
			r.sections = append(r.sections, s)
		}
	}
	return r
}

// Shows reports whether the report has one of some sections.
func (r Report) Shows(names ...string) bool {
	return slices.ContainsFunc(r.sections, func(s *section) bool { return slices.Contains(names, s.name) })
}

// Text returns the report.
func (r Report) Text(f *Facts) string {
	var b strings.Builder
	for _, s := range r.sections {
		if s.name == "upstream" && f.Upstream() == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + s.title() + "\r\n")
		for i := range s.rows {
			s.rows[i].writeTo(&b, f)
		}
	}
	return b.String()
}
