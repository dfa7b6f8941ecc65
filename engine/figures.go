package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
)

// Figures are what monitoring shows of an engine: copies, taken without any lock
// of the keyspace. What sessions have done counts here once their batch ends.
type Figures struct {
	Sessions  int
	Commands  int64                // that have run, those of scripts and EXEC included
	Errors    int64                // error replies
	Decisions []commands.Decisions // by commands.Decider
	Latency   []CommandLatency     // of the commands that were timed at all
	Held      Held
	Storage   durable.Status

	ClockAheadUs int64 // how far the clock is ahead of the system's
}

// CommandLatency is how long the calls of one command took that were timed.
type CommandLatency struct {
	Command string // the full name: "config|get"
	Timed   int64
	SumUs   int64
	Buckets [LatencyBuckets]int64 // not cumulative: see LatencyBuckets
}

// Commands returns how many commands have run since start or CONFIG RESETSTAT.
func (e *Engine) Commands() int64 { return e.stats.commands.sum() }

// Figures returns what has been counted since start or CONFIG RESETSTAT.
func (e *Engine) Figures() Figures {
	f := Figures{
		Sessions: e.Sessions(), Commands: e.Commands(), Errors: e.stats.errors.Load(),
		Decisions: e.stats.decided(), Held: e.Held(), Storage: e.storage.Status(),
		ClockAheadUs: e.clock.AheadUs(),
	}
	e.eachCommand(func(c *commands.Command) {
		l := &e.stats.calls[c.ID()].latency
		if l.timed.Load() == 0 {
			return
		}
		one := CommandLatency{Command: c.FullName(), SumUs: l.us.Load()}
		for i := range one.Buckets {
			one.Buckets[i] = l.buckets[i].Load()
			one.Timed += one.Buckets[i] // not l.timed: a call may come in between
		}
		f.Latency = append(f.Latency, one)
	})
	return f
}
