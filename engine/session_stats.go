package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
)

// failed counts the errors of a reply and reports whether the call has failed.
func (m *calls) failed(reply *resp.Value) bool {
	s := m.session
	by := s.work.ctx.Errors
	s.work.ctx.Errors = commands.ErrorsUncounted
	switch {
	case by != commands.ErrorsUncounted:
		return by == commands.ErrorsCounted
	case reply.IsError():
		m.stats.Errors.Count(reply.Str())
		return true
	}
	return false
}

// refused counts an error reply and returns it.
func (m *calls) refused(refusal resp.Value) resp.Value {
	m.stats.Errors.Count(refusal.Str())
	return refusal
}

// isTimed reports whether to time the call under way: always if the command scans
// the keyspace, and its first call; otherwise one in sixteen at random, so that no
// pipeline's rhythm hides a command.
func (m *calls) isTimed(cmd *commands.Command) bool {
	if cmd.Locks == nil && cmd.Flags&commands.AllShards != 0 {
		return true
	}
	m.random = m.random*1664525 + 1013904223
	return m.random>>28 == 0 || m.run.Calls == 0 && !m.stats.Latency(cmd).Timed()
}

// CountWritten counts a write of n bytes to the client. Any goroutine may call it.
func (s *Session) CountWritten(n int) { s.engine.stats.Traffic.AddWrite(s.id, int64(n)) }

// Stats returns the counters, for what is counted outside of sessions.
func (e *Engine) Stats() *stats.Stats { return &e.stats }

// Publish shows other sessions the present state of this one. The connection calls
// it after each batch of commands.
func (s *Session) Publish(b Buffers) {
	if s.side.replica != nil {
		s.side.replica.Heard(s.engine.clock.MonotonicUs())
	}
	s.shown.publish(b)
	s.EnforceClientMemory()
}

func (v *shown) publish(b Buffers) {
	s := v.session
	s.EndCall()
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &v.public
	p.db, p.proto = s.work.ctx.DBIndex, s.answers.proto
	p.queued = -1
	if s.tx.open {
		p.queued = len(s.tx.queued)
	}
	if s.work.calls.ran != nil {
		p.lastCommand = s.work.calls.ran
	}
	p.lastUs = s.work.calls.endUs()
	v.countBuffers(p, b, s.tx.bytes())
	if !s.work.shared {
		s.work.calls.flush()
	}
	if v.blocked.Load() == nil { // otherwise the session that serves it uses ctx
		s.work.ctx.Reset() // an idle client keeps no large reply
	}
}

// Count adds the commands that have run to the statistics. It is the part of
// Publish that sessions need which no other session sees.
func (s *Session) Count() { s.work.calls.flush() }

// view returns what other sessions can see of this one.
func (v *shown) view() public {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.public
}

// edit changes what other sessions can see of this one.
func (v *shown) edit(change func(p *public)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(&v.public)
}
