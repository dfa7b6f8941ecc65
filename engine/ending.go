package engine

import (
	"github.com/zlimit/zlimit/resp"
)

// kill closes the sessions that match: its own after the reply is sent, the others
// at once, however long their connections take to end.
func (x *ending) kill(match func(o *Session) bool) int {
	s := x.session
	killed, patient := 0, !s.inbox.subscriber.InExec // in EXEC shards are locked
	for _, o := range s.engine.sessions.all() {
		if !match(o) {
			continue
		}
		patient = patient && s.order.letRun(o)
		switch {
		case o == s:
			x.closing = true
		case o.peer.Kill == nil || !s.engine.sessions.remove(o):
			continue // it cannot be killed, or has been
		default:
			o.ending.die()
		}
		killed++
	}
	return killed
}

// die ends a session that was just removed from the registry, from another
// session's goroutine. It receives no more messages and no elements that are pushed
// from now on, and runs no more commands.
func (x *ending) die() {
	s := x.session
	x.dead.Store(true)
	s.peer.Kill()
	s.engine.observers.remove(s)
	if p := s.shown.view(); p.subscribed() {
		s.engine.broker.Killed(&s.inbox.subscriber)
	}
	if b := s.shown.blocked.Load(); b != nil {
		b.unblock(resp.None)
	}
}

// evict closes a session, whose bytes no longer count. It reports whether the
// session was still there.
func (x *ending) evict(bytes int64) bool {
	s := x.session
	all := &s.engine.sessions
	line := s.shown.line(s.engine.clock.NowUs())
	x.leaving.Store(bytes) // before Close can miss it
	all.leaving.Add(bytes)
	if !all.remove(s) {
		x.left()
		return false
	}
	s.engine.stats.Evicted.Add(1)
	s.engine.options.Log.Info("Evicting client: " + line)
	x.die()
	return true
}

// left records that an evicted session has closed, or was closing already.
func (x *ending) left() { x.session.engine.sessions.leaving.Add(-x.leaving.Swap(0)) }
