package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/engine/slowlog"
	"github.com/zlimit/zlimit/resp"
)

// slow is what SLOWLOG and LATENCY show, and from which duration on. See
// docs/adr/0036-slow-calls.md.
type slow struct {
	clock       *clock.Clock
	attentionUs atomic.Int64 // the lesser of logUs and the events' threshold: shorter calls don't matter
	logUs       atomic.Int64 // slowlog-log-slower-than; never if the slow log is off

	log    slowlog.Log
	events latency.Monitor

	// collections is how many garbage collections sampleGC has seen. Used by Tick only.
	collections int64
	// longestGC is process.LongestGCPause, but in tests.
	longestGC func(since int64) (us, collections int64)
}

const (
	// never is a duration that no call reaches.
	never = latency.Never
	// exactBelowUs is the attentionUs below which the end of every call is read from the
	// clock: bounds by the readings of neighbours would be too coarse.
	exactBelowUs = 1000
)

// follow caches directives. As in Redis a log that is off is not trimmed.
func (w *slow) follow(logUs, maxLen, eventMs int64) {
	if logUs < 0 {
		logUs = never
	} else {
		w.log.SetMax(maxLen)
	}
	w.logUs.Store(logUs)
	w.attentionUs.Store(min(logUs, w.events.SetThreshold(eventMs)))
}

// event adds a sample to an event of LATENCY if it took long enough.
func (w *slow) event(name string, us int64) {
	if w.events.Wants(us) {
		w.events.Add(name, w.clock.NowUs()/1_000_000, us/1000)
	}
}

// sampleGC adds the longest pause of the garbage collections since the last call.
func (w *slow) sampleGC() {
	if !w.events.On() {
		w.collections = 0
		return
	}
	us, collections := w.longestGC(w.collections)
	if w.collections != 0 { // otherwise they were before the monitor was on
		w.event(latency.GC, us)
	}
	w.collections = collections
}

// LATENCY HISTOGRAM [command [command ...]]
//
// Of a container the subcommands are shown. Names that are no commands are ignored.
func (e *Engine) latencyHistogram(c *commands.Ctx) resp.Value {
	caller(c).Count()
	var out []resp.Value
	add := func(cmd *commands.Command) {
		if h := latency.Histogram(&e.stats, cmd); cmd.Own() == cmd && h.Kind() == resp.KindMap {
			out = append(out, resp.Bulk(cmd.FullName()), h)
		}
	}
	if len(c.Args) == 2 {
		e.table.Each(add)
	}
	for _, name := range c.Args[2:] {
		cmd := e.table.Find(name)
		if cmd == nil {
			continue
		}
		add(cmd)
		for i := range cmd.Subs {
			add(&cmd.Subs[i])
		}
	}
	return resp.Map(out...)
}

// eventOf returns the name of the event of slow calls of a command.
func eventOf(cmd *commands.Command) string {
	if cmd.Is(commands.Fast) {
		return latency.FastCommand
	}
	return latency.Command
}

// call adds a call to the slow log and to the events of LATENCY, as far as it took
// long enough. entry makes the entry, without its duration.
func (w *slow) call(cmd *commands.Command, us int64, entry func() slowlog.Entry) {
	w.event(eventOf(cmd), us)
	if !cmd.Is(commands.SkipSlowlog) {
		w.logCall(us, entry)
	}
}

// logCall adds an entry to the slow log if the call took long enough.
func (w *slow) logCall(us int64, entry func() slowlog.Entry) {
	if us < w.logUs.Load() {
		return
	}
	made := entry()
	made.UnixS, made.DurationUs = w.clock.NowUs()/1_000_000, us
	w.log.Add(made)
}

// measures reports whether to time each call of a command that no other reading of the
// clock bounds: in a script, whose own duration is known, or by the program that runs the
// engine.
func (w *slow) measures(cmd *commands.Command) bool {
	attentionUs := w.attentionUs.Load()
	return attentionUs < exactBelowUs || attentionUs != never && !cmd.Is(commands.Fast)
}

// scriptCallTime adds the duration of a call that a script has made. As in Redis its
// client has no address.
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

// slowEntry returns an entry about a call of the session. Any goroutine may call it.
func (v *shown) slowEntry(args []string) slowlog.Entry {
	return slowlog.Entry{Args: args, Addr: v.session.peer.Addr, Name: v.view().name}
}

// A blockedCall is a call that waits. It is logged when it was served, with the time that
// it ran before and after the wait, as in Redis; the connection's buffers may have other
// arguments then. A call that times out is not logged.
type blockedCall struct {
	args    []string // as SLOWLOG shows them; nil: it is not logged
	timed   bool     // it is of the sample that is timed
	startUs int64    // on Clock.MonotonicUs
	ranUs   int64    // before the wait, and after it when it has ended
}

// suspend ends the call under way, which waits now. It returns nil if nobody is
// interested in its duration.
func (m *calls) suspend(args [][]byte) *blockedCall {
	s := m.session
	e := s.engine
	slow := e.slow.attentionUs.Load() != never
	if !slow && !m.last.timed {
		return nil
	}
	us := e.clock.MonotonicUs() - m.last.startUs
	call := &blockedCall{timed: m.last.timed, startUs: m.last.startUs, ranUs: us}
	if slow {
		e.slow.event(eventOf(s.work.ctx.Cmd), us)
		call.args = slowlog.Args(args, s.work.ctx.Redacted)
	}
	return call
}

// measured runs the rest of a blocked session's call. The session does nothing meanwhile.
func (b *Blocked) measured(serve func() resp.Value) resp.Value {
	if b.call == nil {
		return serve()
	}
	e := b.session.engine
	startUs := e.clock.MonotonicUs()
	reply := serve()
	b.ranAgain(e.clock.MonotonicUs() - startUs)
	return reply
}

// ranAgain adds what it took to serve the wait, which the caller has claimed.
func (b *Blocked) ranAgain(us int64) {
	if b.call == nil {
		return
	}
	b.session.engine.slow.event(latency.Unblocking, us)
	b.call.ranUs += us
	b.log(b.call.ranUs)
}

// logRun logs a call that is computed beside its session, such as SAVE, when that has
// ended.
func (b *Blocked) logRun() {
	if b.call == nil {
		return
	}
	us := b.session.engine.clock.MonotonicUs() - b.call.startUs
	b.session.engine.slow.event(eventOf(b.cmd), us)
	b.call.ranUs = us
	b.log(us)
}

func (b *Blocked) log(us int64) {
	if b.call.args == nil || b.cmd.Is(commands.SkipSlowlog) {
		return
	}
	b.session.engine.slow.logCall(us, func() slowlog.Entry { return b.session.shown.slowEntry(b.call.args) })
}
