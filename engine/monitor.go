package engine

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/doctor"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/stats"
	"github.com/zlimit/zlimit/engine/traces"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/words"
)

// Monitors are the sessions that have called MONITOR. The lines of a command, script or EXEC are put into
// their mailboxes together, before its shards are unlocked. So all monitors see all lines in one order, in
// which no reply precedes the line of a command that it depends on, and nothing comes between the lines of
// one transaction. No command waits for a client that does not read; see docs/adr/0007-pubsub.md.
//
// observers are these, what RL.TRACE and RL.DOCTOR remember, and the counters of sessions with Peer.Observes.
type observers struct {
	monitored atomic.Bool // there is a monitor
	mu        sync.Mutex  // held while lines are put; acquired after the broker's
	monitors  []*Session  // protected by mu

	traces traces.Tracer
	doctor *doctor.Doctor

	stats *stats.Stats // protected by mu: of sessions that are not counted; nil: there was none
}

// uncounted returns the statistics of sessions that are not counted, for a number of commands.
func (m *observers) uncounted(commands int) *stats.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stats == nil {
		m.stats = &stats.Stats{}
		m.stats.Init(commands)
	}
	return m.stats
}

func (m *observers) add(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.monitors = append(m.monitors, s)
	m.monitored.Store(true)
}

// remove removes a session, if it is a monitor.
func (m *observers) remove(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.monitors = slices.DeleteFunc(m.monitors, func(o *Session) bool { return o == s })
	m.monitored.Store(len(m.monitors) > 0)
}

// beginTrace traces the command, script or EXEC that begins, if there is a monitor.
func (w *watching) beginTrace(watched bool) {
	s := w.session
	s.work.ctx.Env.ShowTo(nil)
	if !watched {
		return
	}
	if w.trace == nil {
		w.trace = &trace{from: s.peer.shown()}
	}
	w.trace.reset()
	s.work.ctx.Env.ShowTo(w.trace)
}

// shown returns the client's address in MONITOR's lines.
func (p *Peer) shown() string {
	if path, unix := strings.CutSuffix(p.LocalAddr, ":0"); unix && strings.HasPrefix(path, "/") {
		return "unix:" + path
	}
	return p.Addr
}

// maxIdleTrace is how many bytes an empty trace keeps.
const maxIdleTrace = 16 << 10

func (t *trace) reset() {
	if cap(t.lines) > maxIdleTrace {
		t.lines, t.ends = nil, nil
	}
	t.lines, t.ends = t.lines[:0], t.ends[:0]
}

// Called implements commands.Monitor.
func (t *trace) Called(c *commands.Ctx, args [][]byte) {
	from := t.from
	if c.Mode.Is(commands.InScript) {
		from = "lua"
	}
	b := append(t.lines, " ["...)
	b = strconv.AppendInt(b, int64(c.DBIndex), 10)
	b = append(append(append(b, ' '), from...), ']')
	for i, a := range args {
		b = append(b, ' ')
		if c.Redacted>>min(i, 63)&1 != 0 {
			b = words.AppendQuoted(b, []byte(commands.RedactedArg))
		} else {
			b = words.AppendQuoted(b, a)
		}
	}
	t.lines = append(b, "\r\n"...)
	t.ends = append(t.ends, len(t.lines))
}

// appendTo appends the lines to b, all with one timestamp.
func (t *trace) appendTo(b []byte, nowUs int64) []byte {
	start := 0
	for _, end := range t.ends {
		b = append(strconv.AppendInt(append(b, '+'), nowUs/1_000_000, 10), '.')
		for digit := int64(100_000); digit > 0; digit /= 10 {
			b = append(b, '0'+byte(nowUs/digit%10))
		}
		b = append(b, t.lines[start:end]...)
		start = end
	}
	return b
}

// showTrace sends the trace of the command under way to the monitors. It is called
// before the shards are unlocked.
func (w *watching) showTrace() {
	s := w.session
	t, all := w.trace, &s.engine.observers
	if len(t.ends) == 0 || s.work.ctx.Retry { // a script that starts again
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	// The time is read under the lock, so that it does not go back from line to line.
	text := t.appendTo(nil, s.engine.clock.NowUs())
	m := pubsub.NewRaw(text)
	for _, o := range all.monitors {
		switch {
		case o.answers.silent.Load(), o == s && s.answers.mode == replySkip:
		case o.inbox.subscriber.Mail.Put(m, s.engine.broker.Limit(&o.inbox.subscriber)) && o != s:
			o.inbox.subscriber.WakeUp()
		}
	}
}

// monitorCommand is the row of MONITOR.
var monitorCommand = commands.Command{
	Name: "monitor", Arity: 1, Flags: commands.Admin | commands.NoScript | commands.Loading |
		commands.Stale,
	Group: "server", Since: "1.0.0", Complexity: "O(1)", Handler: monitor,
	Summary: "Sends the connection every command that runs.",
	Deviation: "the commands of one script or EXEC have one timestamp, and those of the " +
		"connection's own scripts and EXEC follow the reply",
}

// MONITOR
func monitor(c *commands.Ctx) resp.Value {
	s := caller(c)
	switch {
	case s.inbox.subscriber.InExec:
		return errMonitorInExec
	case s.seen.monitoring: // Redis answers nothing
		return resp.None
	}
	s.inbox.subscriber.Mail.Open()
	if !s.answers.quiet() { // before the first line
		s.inbox.subscriber.Mail.Put(pubsub.NewMessage(resp.OK), 0)
	}
	s.seen.monitoring = true
	s.shown.edit(func(p *public) { p.monitoring = true })
	s.engine.observers.add(s)
	return resp.None
}

// unmonitor ends the effect of MONITOR.
func (w *watching) unmonitor() {
	s := w.session
	if !w.monitoring {
		return
	}
	s.engine.observers.remove(s)
	w.monitoring = false
	s.shown.edit(func(p *public) { p.monitoring = false })
}

// Monitoring reports whether the session has called MONITOR.
func (s *Session) Monitoring() bool { return s.seen.monitoring }

// setTracer makes the handlers record decisions, or not.
func (w *watching) setTracer(on bool) {
	s := w.session
	s.work.calls.limits.Tracer = nil
	if on {
		s.work.calls.limits.Tracer = &s.engine.observers.traces
	}
}

// observe sets the observer of the command, script or EXEC that begins, if rl-doctor is on.
func (w *watching) observe() {
	s := w.session
	if w.observer == nil {
		newClient := s.engine.observers.doctor.NewClient
		if s.peer.Owner {
			newClient = s.engine.observers.doctor.NewOwnClient
		}
		w.observer = newClient(s.id, s.shown.label)
	}
	if w.observer.Begin() {
		s.work.ctx.Env.ObserveBy(w.observer)
	} else {
		s.work.ctx.Env.ObserveBy(nil)
	}
}

// endObserver is called when the session ends.
func (w *watching) endObserver() {
	if w.observer != nil && w.session.peer.Owner {
		w.session.engine.observers.doctor.End(w.observer)
		w.observer = nil
	}
}
