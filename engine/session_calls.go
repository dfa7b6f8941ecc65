package engine

import (
	"runtime"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/slowlog"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// To know how long each call takes, the clock would have to be read at its end, which a
// call of RL.ALLOW would feel. But the next call reads the clock anyway, and so does the
// end of a batch. So a call stays open until the next reading, which shows that it was
// not slow, or that it may have been; nothing that may wait lies between the call and
// that reading, or the time of the wait is subtracted.
//
// See docs/adr/0036-slow-calls.md.

// A lastCall is the call under way or the last one.
type lastCall struct {
	startUs int64 // on Clock.MonotonicUs; waits are added
	// cmd is nil unless the call is open: it has run, and its end was not read. args are
	// then its arguments, which the connection keeps.
	cmd  *commands.Command
	args [][]byte

	endedUs  int64 // when EndCall was called, on the server's clock; 0: not since the last Publish
	nestedUs int64 // when the next command of EXEC began
	timed    bool  // of a call that waits: it is of the sample that is timed
}

// calls is what a session counts and measures of its calls, until the statistics have it.
type calls struct {
	work      *Work
	session   *Session          // that has the work, or had it last
	stats     *stats.Stats      // where they are counted
	id        int64             // of the work: what is counted is spread by it
	ran       *commands.Command // the last one of this session; nil: none
	run       stats.Run         // calls of one command in a row
	last      lastCall
	random    uint32          // state of the generator that picks which calls are timed
	limits    rl.Session      // of the rate limit commands
	prefixes  *stats.Prefixes // those by which limits counts; nil: none
	reads     int64           // from the client
	readBytes int64
	longArgs  int // see TakeLongArgs
	// measured is set while a decision that the upstream has not made is made here: its duration is that of
	// the batch.
	measured bool
}

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

// open is called with the reading that every call makes when it begins.
func (m *calls) open(monotonicUs int64) {
	m.close(monotonicUs)
	m.last.startUs = monotonicUs
}

// EndCall reads the clock if the last call is open. The connection calls it before it
// waits for anything else than the next command, such as its client.
func (s *Session) EndCall() {
	if s.work.calls.last.cmd == nil {
		return
	}
	nowUs, monotonicUs := s.engine.clock.Read()
	s.work.calls.last.endedUs = nowUs
	s.work.calls.close(monotonicUs)
	s.work.calls.last.args = nil // they keep the connection's buffer
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
		m.last.timed = timed
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

// nested calls a command of EXEC. Each begins when the one before has ended, so the
// clock is read once for each.
func (m *calls) nested(cmd *commands.Command, args [][]byte) resp.Value {
	s := m.session
	timed := m.isTimed(cmd)
	attentionUs := s.engine.slow.attentionUs.Load()
	switch {
	case attentionUs != never:
	case timed:
		m.last.nestedUs = s.engine.clock.MonotonicUs()
	default:
		return m.handle(cmd, args)
	}
	reply := m.handle(cmd, args)
	endUs := s.engine.clock.MonotonicUs()
	us := endUs - m.last.nestedUs
	m.last.nestedUs = endUs
	if timed {
		m.stats.Latency(cmd).Add(us)
	}
	if us >= attentionUs {
		m.slow(cmd, args, us)
	}
	return reply
}

// A waiting is a wait of the session during a call or after it, which does not count.
type waiting struct {
	session *Session // nil: nobody's
	startUs int64
}

// waitBegins is called when the session has to wait. s may be nil.
func (s *Session) waitBegins() waiting {
	if s == nil {
		return waiting{}
	}
	s.leave()
	return waiting{s, s.engine.clock.MonotonicUs()}
}

// leave says that the session is about to wait.
func (s *Session) leave() {
	if s.peer.Waits != nil {
		s.peer.Waits()
	}
}

// ends ends the wait.
func (w waiting) ends() {
	if w.session != nil {
		w.session.work.calls.last.startUs += w.session.engine.clock.MonotonicUs() - w.startUs
	}
}

// waitForSpace waits while too much of the log waits for the disk. It reports false if
// the wait was ended.
func (m *calls) waitForSpace() bool {
	s := m.session
	if s.engine.storage.HasSpace() {
		return true
	}
	defer s.waitBegins().ends()
	return s.engine.storage.WaitForSpace(s.ending.canceler)
}

// keysPerStep is how many keys a walk by Step visits between two yields: about a
// millisecond. The network is not looked at while goroutines compute on every
// processor.
const keysPerStep = 4096

// Step implements commands.Stepper.
func (s *Session) Step(shard int, fn func()) resp.Value {
	visited, refusal := s.step(store.OneShard(shard), shard, fn)
	s.work.steps.Add(visited)
	return refusal
}

// step is Step without the yield. It returns how many keys the shard has.
func (s *Session) step(one store.ShardSet, shard int, fn func()) (keys int, refusal resp.Value) {
	e, c := s.engine, &s.work.ctx
	if busy := e.locks.lockUnlessBusy(s, one); busy != nil {
		return 0, resp.Error(busy.Reply)
	}
	defer e.locks.waits.changed()
	defer e.store.Unlock(one)
	if e.locks.torn.has(one) {
		s.ending.closing = true
		return 0, errCanceled
	}
	c.Use(c.DBIndex)
	defer func() { c.DB = nil }() // SWAPDB may swap it at any time
	fn()
	return e.store.ShardLen(shard), resp.None
}

// yield lets others use the processor during a walk through the keyspace.
func (s *Session) yield() {
	defer s.waitBegins().ends()
	if s.engine.options.Pause != nil {
		s.engine.options.Pause()
	} else {
		runtime.Gosched()
	}
}

// handle runs a handler. Its shards must be locked.
func (m *calls) handle(cmd *commands.Command, args [][]byte) resp.Value {
	s := m.session
	c := &s.work.ctx
	c.Call(cmd, args)
	c.Proto = s.answers.proto
	if len(args) >= longCall {
		m.longArgs += len(args)
	}
	if s.work.req.locked {
		c.Use(c.DBIndex)
	} else {
		c.DB = nil // SWAPDB may swap it at any time
	}
	return c.Run()
}
