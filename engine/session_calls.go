package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/slowlog"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// To know how long each call takes, the clock would have to be read at its end, which a call of RL.ALLOW
// would feel. But the next call reads the clock anyway, and so does the end of a batch. So a call stays open
// until the next reading, which shows that it was not slow, or that it may have been; nothing that may wait
// lies between the call and that reading, or the time of the wait is subtracted.
//
// See docs/adr/0036-slow-calls.md.

// longCall is how many arguments a call has at least that is long by their number.
const longCall = 256

// TakeLongArgs returns how many arguments the long calls had that have run since it was called last, those of
// EXEC among them. What such a call does takes about a microsecond for each.
func (s *Session) TakeLongArgs() (n int) {
	if n = s.work.calls.longArgs; n > 0 {
		s.work.calls.longArgs = 0
	}
	return n
}

// open begins a call with the reading that every call makes then, which ends the one before.
func (m *calls) open(monotonicUs int64) {
	m.close(monotonicUs)
	m.last.startUs = monotonicUs
	m.work.req.begun = true
}

// EndCall reads the clock if the last call is open. The connection calls it before it
// waits for anything else than the next command, such as its client.
func (s *Session) EndCall() {
	if m := &s.work.calls; m.last.cmd != nil {
		m.end()
	}
}

func (m *calls) end() {
	nowUs, monotonicUs := m.session.engine.clock.Read()
	m.last.endedUs = nowUs
	m.close(monotonicUs)
	m.last.args = nil // they keep the connection's buffer
}

// endUs returns the reading of EndCall, or a new one.
func (m *calls) endUs() int64 {
	nowUs := m.last.endedUs
	if m.last.endedUs = 0; nowUs == 0 {
		nowUs = m.session.engine.clock.NowUs()
	}
	return nowUs
}

// close ends the last call, if it is open.
func (m *calls) close(monotonicUs int64) {
	l := &m.last
	cmd := l.cmd
	if cmd == nil {
		return
	}
	l.cmd = nil
	if us := monotonicUs - l.startUs; us >= m.session.engine.slow.attentionUs.Load() {
		m.slow(cmd, l.args, us)
	}
}

// slow logs a call that has ended.
func (m *calls) slow(cmd *commands.Command, args [][]byte, us int64) {
	s, redacted := m.session, m.session.work.ctx.Redacted
	if s.peer.Observes {
		return
	}
	s.engine.slow.call(cmd, us, func() slowlog.Entry {
		return s.shown.slowEntry(slowlog.Args(args, redacted))
	})
}

// measure calls a command and leaves it open, or reads the clock at once if that
// does not bound its duration, or if the call is of the sample that is timed.
func (m *calls) measure(cmd *commands.Command, args [][]byte) resp.Value {
	s := m.session
	if m.measured {
		return m.handle(cmd, args)
	}
	timed := m.isTimed(cmd)
	reply := m.handle(cmd, args)
	if s.work.ctx.Retry || s.work.ctx.Waiting != nil {
		s.work.req.timed = timed
		return reply // it runs again, or block goes on
	}
	attentionUs := s.engine.slow.attentionUs.Load()
	switch {
	case timed, attentionUs < exactBelowUs, attentionUs != never && !s.peer.KeepsArgs:
		m.endNow(cmd, args, timed)
	case attentionUs != never:
		m.last.cmd, m.last.args = cmd, args
	}
	return reply
}

// endNow ends the call under way.
func (m *calls) endNow(cmd *commands.Command, args [][]byte, timed bool) {
	s := m.session
	if !timed && s.peer.Owner && !s.engine.slow.measures(cmd) {
		return
	}
	us := s.engine.clock.MonotonicUs() - m.last.startUs
	if timed {
		m.stats.Latency(cmd).Add(us)
	}
	if us >= s.engine.slow.attentionUs.Load() {
		m.slow(cmd, args, us)
	}
}

// nested calls a command of EXEC. Each begins when the one before has ended, at startUs, so the clock is
// read once for each.
func (m *calls) nested(cmd *commands.Command, args [][]byte, startUs *int64) resp.Value {
	s := m.session
	timed := m.isTimed(cmd)
	attentionUs := s.engine.slow.attentionUs.Load()
	switch {
	case attentionUs != never:
	case timed:
		*startUs = s.engine.clock.MonotonicUs()
	default:
		return m.handle(cmd, args)
	}
	reply := m.handle(cmd, args)
	endUs := s.engine.clock.MonotonicUs()
	us := endUs - *startUs
	*startUs = endUs
	if timed {
		m.stats.Latency(cmd).Add(us)
	}
	if us >= attentionUs {
		m.slow(cmd, args, us)
	}
	return reply
}

// handle runs a handler. Its shards must be locked.
func (m *calls) handle(cmd *commands.Command, args [][]byte) resp.Value {
	c := &m.work.ctx
	c.Call(cmd, args)
	c.Proto = m.session.answers.proto
	if len(args) >= longCall {
		m.longArgs += len(args)
	}
	if c.Unheld != store.AllShards {
		c.Use(c.DBIndex)
	} else {
		c.DB = nil // SWAPDB may swap it at any time
	}
	return c.Run()
}

// suspend ends the call under way, which waits now. It returns nil if nobody is interested in its duration.
func (m *calls) suspend(args [][]byte) *blockedCall {
	s := m.session
	e := s.engine
	slow := e.slow.attentionUs.Load() != never
	if !slow && !s.work.req.timed {
		return nil
	}
	us := e.clock.MonotonicUs() - m.last.startUs
	call := &blockedCall{timed: s.work.req.timed, startUs: m.last.startUs, ranUs: us}
	if slow {
		e.slow.event(eventOf(s.work.ctx.Cmd), us)
		call.args = slowlog.Args(args, s.work.ctx.Redacted)
	}
	return call
}

// isTimed reports whether to time the call under way: always if the command scans the keyspace, and its first
// call; otherwise one in sixteen at random, so that no pipeline's rhythm hides a command.
func (m *calls) isTimed(cmd *commands.Command) bool {
	if cmd.Locks == nil && cmd.Flags&commands.AllShards != 0 {
		return true
	}
	m.random = m.random*1664525 + 1013904223
	return m.random>>28 == 0 || m.run.Calls == 0 && !m.stats.Latency(cmd).Timed()
}

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

// scriptCallTime adds the duration of a call that a script has made. As in Redis its client has no address.
func (e *Engine) scriptCallTime(c *commands.Ctx, us int64, sampled bool) {
	if sampled {
		e.stats.Latency(c.Cmd).Add(us)
	}
	if us < e.slow.attentionUs.Load() {
		return
	}
	e.slow.call(c.Cmd, us, func() slowlog.Entry {
		return slowlog.Entry{Args: slowlog.Args(c.Args, c.Redacted), Addr: "?:0"}
	})
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
	p.noteCommand(s)
	p.lastUs = s.work.calls.endUs()
	v.countBuffers(p, b, s.tx.bytes())
	if !s.work.shared {
		s.work.calls.flush()
	}
	if v.blocked.Load() == nil { // otherwise the session that serves it uses ctx
		s.work.ctx.Reset() // an idle client keeps no large reply
	}
}

// noteCommand shows the command that the session has begun last, if it has begun one with the work it has.
func (p *public) noteCommand(s *Session) {
	if ran := s.work.calls.ran; ran != nil {
		p.lastCommand = ran
	}
}

// Count adds the commands that have run to the statistics. It is the part of
// Publish that sessions need which no other session sees.
func (s *Session) Count() { s.work.calls.flush() }
