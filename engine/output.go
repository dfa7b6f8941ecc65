package engine

import "github.com/zlimit/zlimit/resp"

// A reply to a connection is bounded while it is made, by the hard limit of the client's class and by
// maxmemory-clients: what passes these is never held. As in Redis the command runs to its end, and then the
// client is closed. Programs that read values have no bound, and scripts have lua-memory-limit.

// shareOutput bounds replies by maxmemory-clients, unless the session must not be evicted.
func (y *answers) shareOutput() {
	s := y.session
	y.bounds.Shared = nil
	if s.peer.Streams && !s.shown.view().noEvict {
		y.bounds.Shared = &s.engine.sessions.limit
	}
	y.applyBounds()
}

// applyBounds makes the bounds those of the next reply.
func (y *answers) applyBounds() {
	if w := y.session.work; w != nil {
		w.ctx.Out.OutputBounds = y.bounds
	}
}

// SetReplyLimit bounds each reply, in bytes; 0: no bound. The connection calls it with its output's hard
// limit.
func (s *Session) SetReplyLimit(bytes int64) {
	s.answers.bounds.Limit = bytes
	s.answers.applyBounds()
}

// Exceeded returns how large the reply was at the least that passed a bound and ended the session, or 0.
// It is asked before Publish. An evicted session has passed the bound of all clients.
func (s *Session) Exceeded() int {
	if !s.work.ctx.Out.Exceeded() || s.ending.dead.Load() {
		return 0
	}
	return int(s.work.ctx.Out.Bytes())
}

// bound returns a reply as the session's connection sends it.
func (y *answers) bound(reply resp.Value) resp.Value {
	s := y.session
	if reply.IsLong() || s.work.ctx.Out.Exceeded() {
		return y.boundReply(reply)
	}
	return reply
}

// boundReply returns a long reply in blocks if the connection sends those, and ends the session if the reply
// has passed a bound.
func (y *answers) boundReply(reply resp.Value) resp.Value {
	s := y.session
	c := &s.work.ctx
	if !c.Out.Encodes {
		return reply
	}
	if kind := reply.Kind(); kind != resp.KindStream && kind != resp.KindEncoded {
		reply = c.Encode(reply)
	}
	if !c.Out.Exceeded() {
		return reply
	}
	s.ending.closing = true
	if limit := s.engine.sessions.limit.Load(); limit > 0 && c.Out.Bytes() >= limit {
		s.ending.evict(c.Out.Bytes())
	}
	return resp.None
}
