package latency

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// What LATENCY DOCTOR answers if there is nothing to report.
const (
	reportOff = "Nothing is sampled: CONFIG SET latency-monitor-threshold <milliseconds> " +
		"has what takes as long sampled by event.\n"
	reportFine = "Nothing has taken as long as latency-monitor-threshold since the start or LATENCY RESET.\n"
)

// advice is what to do about each event.
var advice = map[string]string{
	Command: "SLOWLOG GET shows the calls. KEYS, SORT, SMEMBERS and scripts over large keys take " +
		"time that grows with the key: read with SCAN, HSCAN, SSCAN or ZSCAN, and keep keys small.",
	FastCommand: "Fast commands do little work, so the process was probably not running: look for " +
		"other programs on its processors, a container's processor limit, and swapping.",
	Unblocking: "A blocked client was served with many elements: pop fewer at once.",
	Expire: "Many keys have expired together. Clients hardly notice, because they are removed in " +
		"small steps; a random part in their lifetimes spreads them.",
	Evict: "maxmemory is reached, and keys are removed before commands run: raise maxmemory, shorten " +
		"windows, or lower maxmemory-eviction-tenacity.",
	AOFWrite: "The disk accepts the log slowly. Clients wait only under appendfsync always, or while " +
		"too much of the log waits: use a faster disk.",
	AOFSync: "Under appendfsync always every reply waits for the disk: use a faster one, or " +
		"appendfsync everysec.",
	Snapshot: "Every client waited while a snapshot began: save less often, or in quiet hours.",
	GC: "Go's collector has stopped the process: give it more memory (GOGC, GOMEMLIMIT) and more " +
		"than one processor.",
}

// LATENCY DOCTOR
func (m *Monitor) doctor(*commands.Ctx) resp.Value {
	names := m.names()
	switch {
	case len(names) == 0 && !m.On():
		return resp.Verbatim(reportOff)
	case len(names) == 0:
		return resp.Verbatim(reportFine)
	}
	var b strings.Builder
	b.WriteString("What took at least latency-monitor-threshold, by event:\n\n")
	for _, name := range names {
		if e := m.get(name); len(e.Samples) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, describe(e))
			if advice[name] != "" {
				fmt.Fprintf(&b, "    %s\n", advice[name])
			}
		}
	}
	return resp.Verbatim(b.String())
}

// describe returns the figures of an event in one line.
func describe(e event) string {
	sum, first := int64(0), e.Samples[0]
	for _, s := range e.Samples {
		sum += s.Ms
	}
	n := int64(len(e.Samples))
	text := fmt.Sprintf("%d samples, %d ms on average, the longest ever %d ms", n, sum/n, e.MaxMs)
	if n > 1 {
		text += fmt.Sprintf(", one every %d seconds", (e.Samples[n-1].UnixS-first.UnixS)/(n-1))
	}
	return text + "."
}
