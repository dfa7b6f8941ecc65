package stats

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// Stats has the counters since the start or CONFIG RESETSTAT. Its methods may be
// called concurrently.
type Stats struct {
	Connections atomic.Int64 // sessions that were opened
	Refusals    Refusals
	Blocked     Blocked

	Errors  Errors
	Traffic Traffic
	Sampler Sampler
	Top     Top

	calls     calls
	decisions [decisionShards]decisionCounts
	rates     rates

	peak     atomic.Int64             // the largest used_memory that was seen
	prefixes atomic.Pointer[Prefixes] // nil: rl-stats-prefix is empty
}

// Refusals counts the connections that were refused, or closed for what they have sent or not read.
type Refusals struct {
	Rejected    atomic.Int64 // those that were refused
	Handshakes  atomic.Int64 // TLS handshakes that failed
	Evicted     atomic.Int64 // those that maxmemory-clients has closed
	QueryLimit  atomic.Int64 // those that client-query-buffer-limit has closed
	OutputLimit atomic.Int64 // those that client-output-buffer-limit has closed
}

func (r *Refusals) reset() {
	for _, n := range []*atomic.Int64{&r.Rejected, &r.Handshakes, &r.Evicted, &r.QueryLimit, &r.OutputLimit} {
		n.Store(0)
	}
}

// Blocked counts the sessions that are blocked now.
type Blocked struct {
	All   atomic.Int64
	Timed atomic.Int64 // those whose wait has a timeout
}

// Add adds n sessions whose wait has a timeout, or has none.
func (b *Blocked) Add(n int64, timed bool) {
	b.All.Add(n)
	if timed {
		b.Timed.Add(n)
	}
}

// calls are the counters of the commands.
type calls struct {
	all spread
	of  []callStats // by commands.Command.ID
}

func (c *calls) reset() {
	c.all.reset()
	for i := range c.of {
		c.of[i].reset()
	}
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
	s.calls.of = make([]callStats, commands)
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

func (c *callStats) reset() {
	c.calls.reset()
	c.rejected.Store(0)
	c.failed.Store(0)
	c.latency.reset()
}

// A Calls is a copy of the counters of one command.
type Calls struct{ Calls, Rejected, Failed int64 }

// Commands returns how many commands have run.
func (s *Stats) Commands() int64 { return s.calls.all.sum() }

// Calls returns the counters of a command.
func (s *Stats) Calls(cmd *commands.Command) Calls {
	c := &s.calls.of[cmd.ID()]
	return Calls{Calls: c.calls.sum(), Rejected: c.rejected.Load(), Failed: c.failed.Load()}
}

// Latency returns the latency of a command.
func (s *Stats) Latency(cmd *commands.Command) *Latency { return &s.calls.of[cmd.ID()].latency }

// Add adds calls that a session has made of one command.
func (s *Stats) Add(session int64, n *commands.CallCount) {
	c := &s.calls.of[n.Cmd.ID()]
	if n.Calls > 0 {
		c.calls.add(session, n.Calls)
		s.calls.all.add(session, n.Calls)
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
	s.Connections.Store(0)
	s.Refusals.reset()
	s.Errors.reset()
	s.Traffic.reset()
	s.calls.reset()
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
