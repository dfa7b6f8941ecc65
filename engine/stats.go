package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
)

// stats counts what INFO reports since start or CONFIG RESETSTAT.
type stats struct {
	connections atomic.Int64
	blocked     atomic.Int64 // sessions that wait now
	commands    atomic.Int64
	errors      atomic.Int64
	turnedAway  atomic.Int64
	calls       []callStats // by commands.Command.ID
}

// callStats counts one command.
type callStats struct {
	calls, rejected, failed atomic.Int64
}

// run counts calls of one command in a row, so that a pipeline of a thousand
// RL.ALLOW writes to the shared counters once.
type run struct {
	cmd                     *commands.Command
	calls, rejected, failed int64
}

// flush adds the run to the shared counters and empties it.
func (r *run) flush(s *stats) {
	if r.cmd != nil && r.calls+r.rejected > 0 {
		c := &s.calls[r.cmd.ID()]
		c.calls.Add(r.calls)
		s.commands.Add(r.calls)
		if r.rejected+r.failed > 0 {
			c.rejected.Add(r.rejected)
			c.failed.Add(r.failed)
			s.errors.Add(r.rejected + r.failed)
		}
	}
	r.calls, r.rejected, r.failed = 0, 0, 0
}

// count adds one call that EXEC made.
func (s *stats) count(cmd *commands.Command, failed bool) {
	c := &s.calls[cmd.ID()]
	c.calls.Add(1)
	s.commands.Add(1)
	if failed {
		c.failed.Add(1)
		s.errors.Add(1)
	}
}

// reset sets every counter to zero.
func (s *stats) reset() {
	s.connections.Store(0)
	s.commands.Store(0)
	s.errors.Store(0)
	s.turnedAway.Store(0)
	for i := range s.calls {
		s.calls[i].calls.Store(0)
		s.calls[i].rejected.Store(0)
		s.calls[i].failed.Store(0)
	}
}
