package stats

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// Stats has the counters since the start or CONFIG RESETSTAT. Its methods may be
// called concurrently.
type Stats struct {
	Connections atomic.Int64 // sessions that were opened
	Rejected    atomic.Int64 // connections that were refused
	Handshakes  atomic.Int64 // TLS handshakes that failed
	Evicted     atomic.Int64 // connections that maxmemory-clients has closed
	QueryLimit  atomic.Int64 // connections that client-query-buffer-limit has closed
	OutputLimit atomic.Int64 // connections that client-output-buffer-limit has closed
	Blocked     atomic.Int64 // sessions that are blocked now
	TimedWaits  atomic.Int64 // of them, those with a timeout

	Errors  Errors
	Traffic Traffic
	Sampler Sampler
	Top     Top

	commands  spread
	calls     []callStats // by commands.Command.ID
	decisions [decisionShards]decisionCounts
	rates     rates

	peak        atomic.Int64             // the largest used_memory that was seen
	prefixes    atomic.Pointer[Prefixes] // nil: rl-stats-prefix is empty
	prefixNames string                   // of them; used by SetPrefixes only
}

// NoteUse records a use of memory in bytes and returns the largest so far.
func (s *Stats) NoteUse(used int64) (peak int64) {
	for {
		peak = s.peak.Load()
		if used <= peak || s.peak.CompareAndSwap(peak, used) {
			return max(peak, used)
		}
	}
}

// Init prepares for a number of commands.
func (s *Stats) Init(commands int) {
	s.calls = make([]callStats, commands)
	for i := range s.decisions {
		s.decisions[i].init()
	}
}

// callStats counts the calls of one command.
type callStats struct {
	calls            spread
	rejected, failed atomic.Int64
	latency          Latency
}

// A Calls is a copy of the counters of one command.
type Calls struct{ Calls, Rejected, Failed int64 }

// Commands returns how many commands have run.
func (s *Stats) Commands() int64 { return s.commands.sum() }

// Calls returns the counters of a command.
func (s *Stats) Calls(cmd *commands.Command) Calls {
	c := &s.calls[cmd.ID()]
	return Calls{Calls: c.calls.sum(), Rejected: c.rejected.Load(), Failed: c.failed.Load()}
}

// Latency returns the latency of a command.
func (s *Stats) Latency(cmd *commands.Command) *Latency { return &s.calls[cmd.ID()].latency }

// Add adds calls that a session has made of one command.
func (s *Stats) Add(session int64, n *commands.CallCount) {
	c := &s.calls[n.Cmd.ID()]
	if n.Calls > 0 {
		c.calls.add(session, n.Calls)
		s.commands.add(session, n.Calls)
	}
	if n.Rejected+n.Failed > 0 {
		c.rejected.Add(n.Rejected)
		c.failed.Add(n.Failed)
	}
}

// A Run counts consecutive calls of one command by one session, so that a
// pipeline of a thousand RL.ALLOW adds to the shared counters once.
type Run struct {
	Cmd                     *commands.Command // nil: there was no call
	Calls, Rejected, Failed int64
}

// Flush adds the run to the shared counters and empties it.
func (r *Run) Flush(session int64, s *Stats) {
	if r.Cmd != nil && r.Calls+r.Rejected > 0 {
		s.Add(session, &commands.CallCount{
			Cmd: r.Cmd, Calls: r.Calls, Rejected: r.Rejected,
			Failed: r.Failed,
		})
	}
	r.Calls, r.Rejected, r.Failed = 0, 0, 0
}

// Reset is CONFIG RESETSTAT. What is blocked now stays.
func (s *Stats) Reset() {
	for _, n := range []*atomic.Int64{
		&s.Connections, &s.Rejected, &s.Handshakes, &s.Evicted, &s.QueryLimit, &s.OutputLimit,
	} {
		n.Store(0)
	}
	s.Errors.reset()
	s.Traffic.reset()
	s.commands.reset()
	for i := range s.calls {
		c := &s.calls[i]
		c.calls.reset()
		c.rejected.Store(0)
		c.failed.Store(0)
		c.latency.reset()
	}
	s.rates.reset()
	for i := range s.decisions {
		s.decisions[i].reset()
	}
	s.Top.Reset()
	if p := s.prefixes.Load(); p != nil {
		p.reset()
	}
}

// A spread is a counter that many sessions add to at once. Each session adds in
// its own place, so that processors do not wait for each other's cache lines.
type spread [8]struct {
	atomic.Int64
	_ [120]byte // two cache lines: processors fetch them in pairs
}

func (s *spread) add(session, n int64) { s[session%int64(len(s))].Add(n) }

func (s *spread) sum() (n int64) {
	for i := range s {
		n += s[i].Load()
	}
	return n
}

func (s *spread) reset() {
	for i := range s {
		s[i].Store(0)
	}
}
