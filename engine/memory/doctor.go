package memory

import (
	"fmt"
	"strings"
)

// A symptom is an unusual use of memory that MEMORY DOCTOR reports.
type symptom struct {
	name  string
	shows func(f *Facts) bool
	// advice says what it means and what to do. It is formatted with the numbers of figures.
	advice  string
	figures func(f *Facts) []any
}

const (
	// leastBytes is the used memory below which nothing is reported: ratios of small numbers say
	// nothing.
	leastBytes = 5 << 20
	// leastWaste is the difference of two figures below which their ratio does not matter.
	leastWaste = 10 << 20
	// clientBytes is the mean of a client's memory from which on it is reported.
	clientBytes = 200 << 10
	// manyScripts is the number of cached scripts from which on it is reported.
	manyScripts = 1000
)

var symptoms = []symptom{
	{
		"Peak memory",
		func(f *Facts) bool { return f.Peak > f.Used+f.Used/2 },
		"used memory has been %s and is %s now. The process may keep the difference until the next " +
			"garbage collections; MEMORY PURGE returns it at once.",
		func(f *Facts) []any { return []any{Human(f.Peak), Human(f.Used)} },
	},
	{
		"Resident memory",
		func(f *Facts) bool {
			return f.Resident > f.Used*3 && f.Resident-f.Used > leastWaste
		},
		"the process has %s of the system, and uses %s. The rest is garbage that waits for its collection " +
			"or free memory: GOGC and GOMEMLIMIT bound it, MEMORY PURGE returns it.",
		func(f *Facts) []any { return []any{Human(f.Resident), Human(f.Used)} },
	},
	{
		"Memory limit",
		func(f *Facts) bool { return f.Max > 0 && f.Used > f.Max/10*9 },
		"used memory is %s of the %s that maxmemory allows. Beyond it the policy %s decides: see " +
			"docs/eviction.md.",
		func(f *Facts) []any { return []any{Human(f.Used), Human(f.Max), f.Policy} },
	},
	{
		"Clients",
		func(f *Facts) bool {
			return f.Sessions > 0 && f.Use.Clients/f.Sessions > clientBytes
		},
		"a client takes %s on average, all %d together %s. Look at tot-mem in CLIENT LIST for pipelines " +
			"that are not read; maxmemory-clients bounds the sum.",
		func(f *Facts) []any {
			return []any{Human(f.Use.Clients / f.Sessions), f.Sessions, Human(f.Use.Clients)}
		},
	},
	{
		"Scripts",
		func(f *Facts) bool { return f.Scripts.Cached > manyScripts },
		"%d scripts are cached. Arguments written into the text of a script make each call a script of " +
			"its own: pass them as KEYS and ARGV.",
		func(f *Facts) []any { return []any{f.Scripts.Cached} },
	},
	{
		"Libraries",
		func(f *Facts) bool { return f.Libraries.Held > leastWaste && f.Libraries.Held > f.Used/4 },
		"function libraries hold %s beside used memory, which maxmemory does not see: lua-memory-limit " +
			"bounds it. Tables that functions keep between calls are lost with the process: use keys.",
		func(f *Facts) []any { return []any{Human(f.Libraries.Held)} },
	},
	{
		"Log",
		func(f *Facts) bool { return f.Use.Log > leastWaste },
		"%s of the append-only log wait to be written: the disk is slower than the writes.",
		func(f *Facts) []any { return []any{Human(f.Use.Log)} },
	},
}

// Diagnose returns the text of MEMORY DOCTOR.
func Diagnose(f *Facts) string {
	if f.Used < leastBytes {
		return fmt.Sprintf("Used memory is %s, too little to tell what is unusual about it.\n",
			Human(f.Used))
	}
	var b strings.Builder
	for i := range symptoms {
		if s := &symptoms[i]; s.shows(f) {
			fmt.Fprintf(&b, " * %s: "+s.advice+"\n", append([]any{s.name}, s.figures(f)...)...)
		}
	}
	if b.Len() == 0 {
		return fmt.Sprintf("Used memory is %s, and nothing about it is unusual.\n", Human(f.Used))
	}
	return "What is unusual about the use of memory:\n\n" + b.String()
}
