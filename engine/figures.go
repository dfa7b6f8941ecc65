package engine

import (
	"github.com/zlimit/zlimit/commands"
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
	Files     Files
}

// Files is how what is kept on disk fares.
type Files struct {
	Loading      bool
	Logging      bool // there is an append-only log
	LogOK        bool // it can be written to, as far as is known
	LogBytes     int64
	LogWaiting   int64 // bytes that wait in memory
	DelayedSyncs int64
	SaveOK       bool // the last save has succeeded, or there was none
	RewriteOK    bool
	Saving       bool
	Rewriting    bool
	Changes      int64 // since the last save; counted while there is a log or a save point
	LastSaveS    int64 // unix seconds
	ClockAheadUs int64
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
		Decisions: e.stats.decided(), Held: e.Held(), Files: e.files(),
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

func (e *Engine) files() Files {
	p := &e.persist
	log := p.log.Load()
	p.mu.Lock()
	jobs := p.jobs
	p.mu.Unlock()
	f := Files{
		Loading: p.loading.Load() != nil, Logging: log != nil, LogOK: true,
		SaveOK: !jobs.outcomes[saving].failed, RewriteOK: !jobs.outcomes[rewriting].failed,
		Saving: jobs.now != nil && jobs.now.kind == saving, Rewriting: jobs.now != nil && jobs.now.kind == rewriting,
		Changes: p.changes.Load(), LastSaveS: jobs.lastSaveS, ClockAheadUs: e.clock.AheadUs(),
	}
	if log != nil {
		s := log.Status()
		f.LogOK, f.LogBytes, f.LogWaiting, f.DelayedSyncs = s.Err == nil, s.Size, s.Buffered, s.Delayed
	}
	return f
}
