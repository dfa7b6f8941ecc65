package engine

import (
	"runtime"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/slowlog"
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

// longCall is how many arguments a call has at least that is long by their number.
const longCall = 256

// TakeLongArgs returns how many arguments the long calls had that have run since it was called last, those of
// EXEC among them. What such a call does takes about a microsecond for each.
func (s *Session) TakeLongArgs() (n int) {
	if n = s.longArgs; n > 0 {
		s.longArgs = 0
	}
	return n
}

// openCall is called with the reading that every call makes when it begins.
func (s *Session) openCall(monotonicUs int64) {
	s.closeCall(monotonicUs)
	s.last.startUs = monotonicUs
}

// EndCall reads the clock if the last call is open. The connection calls it before it
// waits for anything else than the next command, such as its client.
func (s *Session) EndCall() {
	if s.last.cmd == nil {
		return
	}
	nowUs, monotonicUs := s.engine.clock.Read()
	s.last.endedUs = nowUs
	s.closeCall(monotonicUs)
	s.last.args = nil // they keep the connection's buffer
}

// endedUs returns the reading of EndCall, or a new one.
func (s *Session) endedUs() int64 {
	nowUs := s.last.endedUs
	if s.last.endedUs = 0; nowUs == 0 {
		nowUs = s.engine.clock.NowUs()
	}
	return nowUs
}

// closeCall ends the last call, if it is open.
func (s *Session) closeCall(monotonicUs int64) {
	l := &s.last
	cmd := l.cmd
	if cmd == nil {
		return
	}
	l.cmd = nil
	if us := monotonicUs - l.startUs; us >= s.engine.slow.attentionUs.Load() {
		s.slow(cmd, l.args, us)
	}
}

// slow logs a call that has ended.
func (s *Session) slow(cmd *commands.Command, args [][]byte, us int64) {
	redacted := s.ctx.Redacted
	s.engine.slowCall(cmd, us, func() slowlog.Entry { return s.slowEntry(slowlog.Args(args, redacted)) })
}

// callMeasured calls a command and leaves it open, or reads the clock at once if that
// does not bound its duration, or if the call is of the sample that is timed.
func (s *Session) callMeasured(cmd *commands.Command, args [][]byte) resp.Value {
	if s.forward != nil && s.forward.measured {
		return s.handle(cmd, args)
	}
	timed := s.isTimed(cmd)
	reply := s.handle(cmd, args)
	if s.ctx.Retry || s.ctx.Waiting != nil {
		s.last.timed = timed
		return reply // it runs again, or block goes on
	}
	attentionUs := s.engine.slow.attentionUs.Load()
	switch {
	case timed, attentionUs < exactBelowUs, attentionUs != never && !s.peer.KeepsArgs:
		s.endNow(cmd, args, timed)
	case attentionUs != never:
		s.last.cmd, s.last.args = cmd, args
	}
	return reply
}

// endNow ends the call under way.
func (s *Session) endNow(cmd *commands.Command, args [][]byte, timed bool) {
	if !timed && s.peer.Owner && !s.engine.slow.measures(cmd) {
		return
	}
	us := s.engine.clock.MonotonicUs() - s.last.startUs
	if timed {
		s.engine.stats.Latency(cmd).Add(us)
	}
	if us >= s.engine.slow.attentionUs.Load() {
		s.slow(cmd, args, us)
	}
}

// callNested calls a command of EXEC. Each begins when the one before has ended, so the
// clock is read once for each.
func (s *Session) callNested(cmd *commands.Command, args [][]byte) resp.Value {
	timed := s.isTimed(cmd)
	attentionUs := s.engine.slow.attentionUs.Load()
	switch {
	case attentionUs != never:
	case timed:
		s.last.nestedUs = s.engine.clock.MonotonicUs()
	default:
		return s.handle(cmd, args)
	}
	reply := s.handle(cmd, args)
	endUs := s.engine.clock.MonotonicUs()
	us := endUs - s.last.nestedUs
	s.last.nestedUs = endUs
	if timed {
		s.engine.stats.Latency(cmd).Add(us)
	}
	if us >= attentionUs {
		s.slow(cmd, args, us)
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
	return waiting{s, s.engine.clock.MonotonicUs()}
}

// ends ends the wait.
func (w waiting) ends() {
	if w.session != nil {
		w.session.last.startUs += w.session.engine.clock.MonotonicUs() - w.startUs
	}
}

// waitForSpace waits while too much of the log waits for the disk. It reports false if
// the wait was ended.
func (s *Session) waitForSpace() bool {
	if s.engine.storage.HasSpace() {
		return true
	}
	defer s.waitBegins().ends()
	return s.engine.storage.WaitForSpace(s.canceler)
}

// keysPerStep is how many keys a walk by Step visits between two yields: about a
// millisecond. The network is not looked at while goroutines compute on every
// processor.
const keysPerStep = 4096

// Step implements commands.Stepper.
func (s *Session) Step(shard int, fn func()) resp.Value {
	visited, refusal := s.step(store.ShardSet(1)<<shard, shard, fn)
	s.steps.Add(visited)
	return refusal
}

// step is Step without the yield. It returns how many keys the shard has.
func (s *Session) step(one store.ShardSet, shard int, fn func()) (keys int, refusal resp.Value) {
	e, c := s.engine, &s.ctx
	if busy := e.lockUnlessBusy(s, one); busy != nil {
		return 0, resp.Error(busy.Reply)
	}
	defer e.store.Unlock(one)
	if e.torn.has(one) {
		s.closing = true
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
