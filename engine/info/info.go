package info

import (
	"fmt"
	"strings"
)

// Sections is a set of sections.
type Sections uint32

// The sections that need facts of their own.
const (
	Clients Sections = 1 << iota
	Memory
	Persistence
	Stats
	Keyspace
	Limiter
	Replication
	Upstream
	Server
)

// A section is one section of INFO.
type section struct {
	name  string   // lower case
	facts Sections // the constant, or 0
	extra bool     // shown only by name, or with all and everything
	write func(f *Facts, w *writer)
}

// sections are Redis' sections in Redis' order, then ours.
var sections = []section{
	{name: "server", facts: Server, write: writeServer},
	{name: "clients", facts: Clients, write: writeClients},
	{name: "memory", facts: Memory, write: writeMemory},
	{name: "persistence", facts: Persistence, write: writePersistence},
	{name: "stats", facts: Stats, write: writeStats},
	{name: "replication", facts: Replication, write: writeReplication},
	{name: "cpu", write: writeCPU},
	{name: "modules", write: func(*Facts, *writer) {}},
	{name: "commandstats", extra: true, write: writeCommandStats},
	{name: "errorstats", write: writeErrorStats},
	{name: "latencystats", extra: true, write: writeLatencyStats},
	{name: "cluster", write: func(_ *Facts, w *writer) { w.put("cluster_enabled", 0) }},
	{name: "keyspace", facts: Keyspace, write: writeKeyspace},
	{name: "limiter", facts: Limiter, write: writeLimiter},
	{name: "upstream", facts: Upstream, write: writeUpstream},
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

// Needs reports whether the report shows one of some sections.
func (r Report) Needs(some Sections) bool {
	for _, s := range r.sections {
		if s.facts&some != 0 {
			return true
		}
	}
	return false
}

// Text returns the report.
func (r Report) Text(f *Facts) string {
	var w writer
	for _, s := range r.sections {
		if s.facts == Upstream && f.Upstream == nil {
			continue
		}
		if w.b.Len() > 0 {
			w.b.WriteString("\r\n")
		}
		fmt.Fprintf(&w.b, "# %s\r\n", s.title())
		s.write(f, &w)
	}
	return w.b.String()
}
