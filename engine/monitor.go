package engine

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/words"
)

// monitors are the sessions that MONITOR shows every command to. The lines of a
// command, a script or an EXEC are added to their mailboxes together, before its
// shards are unlocked: all of them see all lines in one order, in which no reply
// precedes the line of a command that it depends on, and nothing comes between
// the lines of one transaction. Nobody waits for a client that does not read:
// see docs/adr/0007-pubsub.md.
type monitors struct {
	watched  atomic.Bool // there is one
	mu       sync.Mutex  // held while lines are added; comes after pubsub's
	sessions []*Session  // protected by mu
}

func (m *monitors) add(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(m.sessions, s)
	m.watched.Store(true)
}

// remove takes a session out that may be no monitor.
func (m *monitors) remove(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = slices.DeleteFunc(m.sessions, func(o *Session) bool { return o == s })
	m.watched.Store(len(m.sessions) > 0)
}

// A trace is what a command, script or EXEC has called, as MONITOR shows it.
type trace struct {
	from     string // the client, between the brackets
	lines    []byte // one behind the other, each without its timestamp
	ends     []int  // where they end
	redacted uint64 // arguments of the command under way that are hidden, a bit each
}

// beginTrace makes the command, script or EXEC that begins tell what it calls,
// where somebody watches.
func (s *Session) beginTrace(watched bool) {
	s.ctx.Monitor = nil
	if !watched {
		return
	}
	if s.trace == nil {
		s.trace = &trace{from: s.peer.shown()}
	}
	s.trace.reset()
	s.ctx.Monitor = s.trace
}

// shown is a client's address in MONITOR's lines.
func (p *Peer) shown() string {
	if path, unix := strings.CutSuffix(p.LocalAddr, ":0"); unix && strings.HasPrefix(path, "/") {
		return "unix:" + path
	}
	return p.Addr
}

// keptTrace is the space that a trace keeps when it is empty.
const keptTrace = 16 << 10

func (t *trace) reset() {
	if cap(t.lines) > keptTrace {
		t.lines, t.ends = nil, nil
	}
	t.lines, t.ends, t.redacted = t.lines[:0], t.ends[:0], 0
}

// Redact is commands.Monitor's. The commands that hide anything do so among
// their first arguments, or are refused.
func (t *trace) Redact(arg int) { t.redacted |= 1 << min(arg, 63) }

// Called is commands.Monitor's.
func (t *trace) Called(c *commands.Ctx, args [][]byte) {
	from := t.from
	if c.InScript {
		from = "lua"
	}
	b := append(t.lines, " ["...)
	b = strconv.AppendInt(b, int64(c.DBIndex), 10)
	b = append(append(append(b, ' '), from...), ']')
	for i, a := range args {
		b = append(b, ' ')
		if t.redacted>>min(i, 63)&1 != 0 {
			b = append(b, `"(redacted)"`...)
		} else {
			b = words.AppendQuoted(b, a)
		}
	}
	t.redacted = 0
	t.lines = append(b, "\r\n"...)
	t.ends = append(t.ends, len(t.lines))
}

// appendTo appends the lines, all with one timestamp.
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

// showTrace gives the monitors what the command under way has called. It is
// called before the shards are unlocked.
func (s *Session) showTrace() {
	t, all := s.trace, &s.engine.monitors
	if len(t.ends) == 0 || s.ctx.Retry { // the script begins anew
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	// The time is read in here, so that it does not go back from line to line.
	text := t.appendTo(nil, s.engine.clock.NowUs())
	m := pubsub.NewRaw(text)
	for _, o := range all.sessions {
		switch {
		case o.silent.Load(), o == s && s.replies == replySkip:
		case o.subscriber.Mail.Put(m, s.engine.broker.Limit(&o.subscriber)) && o != s:
			o.subscriber.WakeUp()
		}
	}
}

// MONITOR
func monitor(c *commands.Ctx) resp.Value {
	s := caller(c)
	switch {
	case s.subscriber.InExec:
		return errMonitorInExec
	case s.monitoring: // Redis answers nothing
		return resp.None
	}
	s.subscriber.Mail.Open()
	if !s.quiet() { // before the first line
		s.subscriber.Mail.Put(pubsub.NewMessage(resp.OK), 0)
	}
	s.monitoring = true
	s.edit(func(p *public) { p.monitoring = true })
	s.engine.monitors.add(s)
	return resp.None
}

// unmonitor ends MONITOR.
func (s *Session) unmonitor() {
	if !s.monitoring {
		return
	}
	s.engine.monitors.remove(s)
	s.monitoring = false
	s.edit(func(p *public) { p.monitoring = false })
}

// Monitoring reports whether the session is shown every command.
func (s *Session) Monitoring() bool { return s.monitoring }
