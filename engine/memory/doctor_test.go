package memory

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting"
)

// TestDiagnose: each symptom is reported alone when its figures show it.
func TestDiagnose(t *testing.T) {
	healthy := Facts{Sessions: 10, Policy: "noeviction"}
	healthy.Used, healthy.Peak, healthy.Resident = 100<<20, 110<<20, 150<<20
	const none = "Used memory is 100.00M, and nothing about it is unusual.\n"
	report := func(line string) string {
		return "What is unusual about the use of memory:\n\n * " + line + "\n"
	}
	for _, tc := range []struct {
		name   string
		change func(f *Facts)
		want   string
	}{
		{"healthy", func(*Facts) {}, none},
		{
			"small", func(f *Facts) { f.Used, f.Peak = 1<<20, 1<<40 },
			"Used memory is 1.00M, too little to tell what is unusual about it.\n",
		},
		{"peak", func(f *Facts) { f.Peak = 200 << 20 }, report(
			"Peak memory: used memory has been 200.00M and is 100.00M now. The process may keep the " +
				"difference until the next garbage collections; MEMORY PURGE returns it at once.")},
		{"resident", func(f *Facts) { f.Resident = 400 << 20 }, report(
			"Resident memory: the process has 400.00M of the system, and uses 100.00M. The rest is garbage " +
				"that waits for its collection or free memory: GOGC and GOMEMLIMIT bound it, MEMORY PURGE " +
				"returns it.")},
		{"limit", func(f *Facts) { f.Max = 105 << 20 }, report(
			"Memory limit: used memory is 100.00M of the 105.00M that maxmemory allows. Beyond it the " +
				"policy noeviction decides: see docs/eviction.md.")},
		{"far from the limit", func(f *Facts) { f.Max = 200 << 20 }, none},
		{"clients", func(f *Facts) { f.Use.Clients = 10 << 20 }, report(
			"Clients: a client takes 1.00M on average, all 10 together 10.00M. Look at tot-mem in CLIENT " +
				"LIST for pipelines that are not read; maxmemory-clients bounds the sum.")},
		{"no clients", func(f *Facts) { f.Use.Clients, f.Sessions = 10<<20, 0 }, none},
		{"scripts", func(f *Facts) { f.Scripts = scripting.Stats{Cached: 1001} }, report(
			"Scripts: 1001 scripts are cached. Arguments written into the text of a script make each call " +
				"a script of its own: pass them as KEYS and ARGV.")},
		{"libraries", func(f *Facts) { f.Libraries.Held = 30 << 20 }, report(
			"Libraries: function libraries hold 30.00M beside used memory, which maxmemory does not see: " +
				"lua-memory-limit bounds it. Tables that functions keep between calls are lost with the " +
				"process: use keys.")},
		{"libraries that take little", func(f *Facts) { f.Libraries.Held = 20 << 20 }, none},
		{"log", func(f *Facts) { f.Use.Log = 20 << 20 }, report(
			"Log: 20.00M of the append-only log wait to be written: the disk is slower than the writes.")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := healthy
			tc.change(&f)
			require.Equal(t, tc.want, Diagnose(&f))
		})
	}
}
