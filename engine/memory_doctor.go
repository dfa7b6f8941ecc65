package engine

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A memorySymptom is an unusual use of memory that MEMORY DOCTOR reports.
type memorySymptom struct {
	name  string
	shows func(f *doctorFacts) bool
	// advice says what it means and what to do. It is formatted with the numbers of figures.
	advice  string
	figures func(f *doctorFacts) []any
}

// doctorFacts are what symptoms are judged by.
type doctorFacts struct {
	memoryFacts
	max      int64  // maxmemory
	policy   string // maxmemory-policy
	sessions int64
}

const (
	// doctorLeastBytes is the used memory below which nothing is reported: ratios of small numbers say
	// nothing.
	doctorLeastBytes = 5 << 20
	// doctorLeastWaste is the difference of two figures below which their ratio does not matter.
	doctorLeastWaste = 10 << 20
	// doctorClientBytes is the mean of a client's memory from which on it is reported.
	doctorClientBytes = 200 << 10
	// doctorScripts is the number of cached scripts from which on it is reported.
	doctorScripts = 1000
)

var memorySymptoms = []memorySymptom{
	{
		"Peak memory",
		func(f *doctorFacts) bool { return f.peak > f.used+f.used/2 },
		"used memory has been %s and is %s now. The process may keep the difference until the next " +
			"garbage collections; MEMORY PURGE returns it at once.",
		func(f *doctorFacts) []any { return []any{spelled(f.peak), spelled(f.used)} },
	},
	{
		"Resident memory",
		func(f *doctorFacts) bool {
			return f.resident > f.used*3 && f.resident-f.used > doctorLeastWaste
		},
		"the process has %s of the system, and uses %s. The rest is garbage that waits for its collection " +
			"or free memory: GOGC and GOMEMLIMIT bound it, MEMORY PURGE returns it.",
		func(f *doctorFacts) []any { return []any{spelled(f.resident), spelled(f.used)} },
	},
	{
		"Memory limit",
		func(f *doctorFacts) bool { return f.max > 0 && f.used > f.max/10*9 },
		"used memory is %s of the %s that maxmemory allows. Beyond it the policy %s decides: see " +
			"docs/eviction.md.",
		func(f *doctorFacts) []any { return []any{spelled(f.used), spelled(f.max), f.policy} },
	},
	{
		"Clients",
		func(f *doctorFacts) bool {
			return f.sessions > 0 && f.use.Clients/f.sessions > doctorClientBytes
		},
		"a client takes %s on average, all %d together %s. Look at tot-mem in CLIENT LIST for pipelines " +
			"that are not read; maxmemory-clients bounds the sum.",
		func(f *doctorFacts) []any {
			return []any{spelled(f.use.Clients / f.sessions), f.sessions, spelled(f.use.Clients)}
		},
	},
	{
		"Scripts",
		func(f *doctorFacts) bool { return f.scripts.Cached > doctorScripts },
		"%d scripts are cached. Arguments written into the text of a script make each call a script of " +
			"its own: pass them as KEYS and ARGV.",
		func(f *doctorFacts) []any { return []any{f.scripts.Cached} },
	},
	{
		"Log",
		func(f *doctorFacts) bool { return f.use.Log > doctorLeastWaste },
		"%s of the append-only log wait to be written: the disk is slower than the writes.",
		func(f *doctorFacts) []any { return []any{spelled(f.use.Log)} },
	},
}

func spelled(bytes int64) string { return human(uint64(max(bytes, 0))) }

// MEMORY DOCTOR
func (e *Engine) memoryDoctor(*commands.Ctx) resp.Value {
	return resp.Verbatim(diagnose(&doctorFacts{
		memoryFacts: e.readMemory(), max: e.MaxMemory(), policy: e.cfg.String("maxmemory-policy"),
		sessions: int64(e.Sessions()),
	}))
}

// diagnose returns the text of MEMORY DOCTOR.
func diagnose(f *doctorFacts) string {
	if f.used < doctorLeastBytes {
		return fmt.Sprintf("Used memory is %s, too little to tell what is unusual about it.\n",
			spelled(f.used))
	}
	var b strings.Builder
	for i := range memorySymptoms {
		if s := &memorySymptoms[i]; s.shows(f) {
			fmt.Fprintf(&b, " * %s: "+s.advice+"\n", append([]any{s.name}, s.figures(f)...)...)
		}
	}
	if b.Len() == 0 {
		return fmt.Sprintf("Used memory is %s, and nothing about it is unusual.\n", spelled(f.used))
	}
	return "What is unusual about the use of memory:\n\n" + b.String()
}
