package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/engine/slowlog"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A blockedCall is a call that waits. It is logged when it was served, with the time that
// it ran before and after the wait, as in Redis; the connection's buffers may have other
// arguments then. A call that times out is not logged.
type blockedCall struct {
	cmd     *commands.Command
	args    []string // as SLOWLOG shows them
	startUs int64    // on Clock.MonotonicUs
	ranUs   int64    // before the wait
}

// suspendCall ends the call under way, which waits now. It returns nil if nobody is
// interested in its duration.
func (s *Session) suspendCall(args [][]byte) *blockedCall {
	e := s.engine
	if e.slow.attentionUs.Load() == never {
		return nil
	}
	us := e.clock.MonotonicUs() - s.last.startUs
	cmd := s.ctx.Cmd
	e.event(eventOf(cmd), us)
	return &blockedCall{
		cmd: cmd, args: slowlog.Args(args, s.ctx.Redacted), startUs: s.last.startUs, ranUs: us,
	}
}

// take serves a blocked session, as Wait.Take does. The session does nothing meanwhile.
func (b *Blocked) take(c *commands.Ctx, n *store.Node) resp.Value {
	if b.call == nil {
		return b.wait.Take(c, n)
	}
	e := b.session.engine
	startUs := e.clock.MonotonicUs()
	reply := b.wait.Take(c, n)
	us := e.clock.MonotonicUs() - startUs
	e.event(latency.Unblocking, us)
	b.log(b.call.ranUs + us)
	return reply
}

// logRun logs a call that is computed beside its session, such as SAVE, when that has
// ended.
func (b *Blocked) logRun() {
	if b.call == nil {
		return
	}
	us := b.session.engine.clock.MonotonicUs() - b.call.startUs
	b.session.engine.event(eventOf(b.call.cmd), us)
	b.log(us)
}

func (b *Blocked) log(us int64) {
	if b.call.cmd.Is(commands.SkipSlowlog) {
		return
	}
	b.session.engine.logSlow(us, func() slowlog.Entry { return b.session.slowEntry(b.call.args) })
}
