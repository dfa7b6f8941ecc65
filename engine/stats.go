package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// stats counts what INFO reports since start or CONFIG RESETSTAT.
type stats struct {
	connections atomic.Int64
	blocked     atomic.Int64 // sessions that wait now
	timedWaits  atomic.Int64 // those of them that have a timeout
	commands    spread
	errors      atomic.Int64
	turnedAway  atomic.Int64
	calls       []callStats // by commands.Command.ID
	byCode      errorStats
	decisions   [decisionShards]decisionStats
	traffic     traffic
	reclaimUs   atomic.Int64 // that Ticks have spent on keys that were due
	reclaimCut  atomic.Int64 // how often a Tick left more of them to the next one
	ratesMu     sync.Mutex
	rates       rates // protected by ratesMu
}

// callStats counts one command.
type callStats struct {
	calls            spread
	rejected, failed atomic.Int64
	latency          latency
}

// A spread is a count that many sessions add to at once: each has its place, so
// that processors do not wait for each other's cache lines. An in-process Allow
// adds its one call at once.
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

// add adds calls that a session made of one command.
func (s *stats) add(session int64, n *commands.CallCount) {
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

// run counts calls of one command in a row, so that a pipeline of a thousand
// RL.ALLOW writes to the shared counters once.
type run struct {
	cmd                     *commands.Command
	calls, rejected, failed int64
}

// flush adds the run to the shared counters and empties it.
func (r *run) flush(session int64, s *stats) {
	if r.cmd != nil && r.calls+r.rejected > 0 {
		s.add(session, &commands.CallCount{Cmd: r.cmd, Calls: r.calls, Rejected: r.rejected, Failed: r.failed})
	}
	r.calls, r.rejected, r.failed = 0, 0, 0
}

// flush adds what the session has counted to what INFO shows.
func (s *Session) flush() {
	all := &s.engine.stats
	s.flushTraffic()
	s.run.flush(s.id, all)
	t := &s.ctx.Tally
	for i := range t.Nested {
		all.add(s.id, &t.Nested[i])
	}
	t.Nested = t.Nested[:0]
	all.decisions[s.id%decisionShards].take(t.Decisions)
}

// failed counts the errors of a reply and reports whether the call has failed.
func (s *Session) failed(reply *resp.Value) bool {
	by := s.ctx.Errors
	s.ctx.Errors = commands.ErrorsOpen
	switch {
	case by != commands.ErrorsOpen:
		return by == commands.ErrorsInside
	case reply.IsError():
		s.engine.stats.fail(reply.Str())
		return true
	}
	return false
}

// refused is a refusal, counted.
func (s *Session) refused(refusal resp.Value) resp.Value {
	s.engine.stats.fail(refusal.Str())
	return refusal
}

// fail counts an error reply.
func (s *stats) fail(text string) {
	s.errors.Add(1)
	s.byCode.count(text)
}

// reset sets every counter to zero.
func (s *stats) reset() {
	s.connections.Store(0)
	s.commands.reset()
	s.errors.Store(0)
	s.turnedAway.Store(0)
	for i := range s.calls {
		c := &s.calls[i]
		c.calls.reset()
		c.rejected.Store(0)
		c.failed.Store(0)
		c.latency.reset()
	}
	s.byCode.reset()
	s.traffic.reset()
	s.reclaimUs.Store(0)
	s.reclaimCut.Store(0)
	s.ratesMu.Lock()
	s.rates = rates{}
	s.ratesMu.Unlock()
	for i := range s.decisions {
		s.decisions[i].reset()
	}
}
