package engine

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
)

// What LATENCY DOCTOR answers if there is nothing to report. The texts are Redis'.
const (
	doctorOff = "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. " +
		"You may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we " +
		"weren't in a deep space mission I'd suggest to take a look at " +
		"https://redis.io/topics/latency-monitor.\n"
	doctorFine = "Dave, no latency spike was observed during the lifetime of this Redis instance, not in " +
		"the slightest bit. I honestly think you ought to sit down calmly, take a stress pill, and think " +
		"things over.\n"
)

// advice is what to do about each event.
var advice = map[string]string{
	eventCommand: "SLOWLOG GET shows the calls. KEYS, SORT, SMEMBERS and scripts over large keys take " +
		"time that grows with the key: read with SCAN, HSCAN, SSCAN or ZSCAN, and keep keys small.",
	eventFastCommand: "Fast commands do little work, so the process was probably not running: look for " +
		"other programs on its processors, a container's processor limit, and swapping.",
	eventUnblocking: "A blocked client was served with many elements: pop fewer at once.",
	eventExpire: "Many keys have expired together. Clients hardly notice, because they are removed in " +
		"small steps; a random part in their lifetimes spreads them.",
	eventEvict: "maxmemory is reached, and keys are removed before commands run: raise maxmemory, shorten " +
		"windows, or lower maxmemory-eviction-tenacity.",
	eventAOFWrite: "The disk accepts the log slowly. Clients wait only under appendfsync always, or while " +
		"too much of the log waits: use a faster disk.",
	eventAOFSync: "Under appendfsync always every reply waits for the disk: use a faster one, or " +
		"appendfsync everysec.",
	eventSnapshot: "Every client waited while a snapshot began: save less often, or in quiet hours.",
	eventGC: "Go's collector has stopped the process: give it more memory (GOGC, GOMEMLIMIT) and more " +
		"than one processor.",
}

// LATENCY DOCTOR
func (e *Engine) latencyDoctor(*commands.Ctx) resp.Value {
	names := e.slow.events.Names()
	switch {
	case len(names) == 0 && e.slow.eventUs.Load() == never:
		return resp.Verbatim(doctorOff)
	case len(names) == 0:
		return resp.Verbatim(doctorFine)
	}
	var b strings.Builder
	b.WriteString("What took at least latency-monitor-threshold, by event:\n\n")
	for _, name := range names {
		if event := e.slow.events.Get(name); len(event.Samples) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, describeEvent(event))
			if advice[name] != "" {
				fmt.Fprintf(&b, "    %s\n", advice[name])
			}
		}
	}
	return resp.Verbatim(b.String())
}

// describeEvent returns the figures of an event in one line.
func describeEvent(event stats.Event) string {
	sum, first := int64(0), event.Samples[0]
	for _, s := range event.Samples {
		sum += s.Ms
	}
	n := int64(len(event.Samples))
	text := fmt.Sprintf("%d samples, %d ms on average, the longest ever %d ms", n, sum/n, event.MaxMs)
	if n > 1 {
		text += fmt.Sprintf(", one every %d seconds", (event.Samples[n-1].UnixS-first.UnixS)/(n-1))
	}
	return text + "."
}
