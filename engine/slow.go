package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/engine/slowlog"
)

// slow is what SLOWLOG and LATENCY show, and from which duration on. See docs/adr/0036-slow-calls.md.
type slow struct {
	clock       *clock.Clock
	attentionUs atomic.Int64 // the lesser of logUs and the events' threshold: shorter calls don't matter
	logUs       atomic.Int64 // slowlog-log-slower-than; never if the slow log is off

	log    slowlog.Log
	events latency.Monitor

	// collections is how many garbage collections sampleGC has seen. Used by Tick only.
	collections int64
	// longestGC is process.LongestGCPause, but in tests.
	longestGC func(since int64) (us, collections int64)
}

const (
	// never is a duration that no call reaches.
	never = latency.Never
	// exactBelowUs is the attentionUs below which the end of every call is read from the
	// clock: bounds by the readings of neighbours would be too coarse.
	exactBelowUs = 1000
)

// follow caches directives. As in Redis a log that is off is not trimmed.
func (w *slow) follow(logUs, maxLen, eventMs int64) {
	if logUs < 0 {
		logUs = never
	} else {
		w.log.SetMax(maxLen)
	}
	w.logUs.Store(logUs)
	w.attentionUs.Store(min(logUs, w.events.SetThreshold(eventMs)))
}

// event adds a sample to an event of LATENCY if it took long enough.
func (w *slow) event(name string, us int64) {
	if w.events.Wants(us) {
		w.events.Add(name, w.clock.NowUs()/1_000_000, us/1000)
	}
}

// sampleGC adds the longest pause of the garbage collections since the last call.
func (w *slow) sampleGC() {
	if !w.events.On() {
		w.collections = 0
		return
	}
	us, collections := w.longestGC(w.collections)
	if w.collections != 0 { // otherwise they were before the monitor was on
		w.event(latency.GC, us)
	}
	w.collections = collections
}

// eventOf returns the name of the event of slow calls of a command.
func eventOf(cmd *commands.Command) string {
	if cmd.Is(commands.Fast) {
		return latency.FastCommand
	}
	return latency.Command
}

// call adds a call to the slow log and to the events of LATENCY, as far as it took
// long enough. entry makes the entry, without its duration.
func (w *slow) call(cmd *commands.Command, us int64, entry func() slowlog.Entry) {
	w.event(eventOf(cmd), us)
	if !cmd.Is(commands.SkipSlowlog) {
		w.logCall(us, entry)
	}
}

// logCall adds an entry to the slow log if the call took long enough.
func (w *slow) logCall(us int64, entry func() slowlog.Entry) {
	if us < w.logUs.Load() {
		return
	}
	made := entry()
	made.UnixS, made.DurationUs = w.clock.NowUs()/1_000_000, us
	w.log.Add(made)
}

// measures reports whether to time each call of a command that no other reading of the clock bounds: in a
// script, whose own duration is known, or by the program that runs the engine.
func (w *slow) measures(cmd *commands.Command) bool {
	attentionUs := w.attentionUs.Load()
	return attentionUs < exactBelowUs || attentionUs != never && !cmd.Is(commands.Fast)
}
