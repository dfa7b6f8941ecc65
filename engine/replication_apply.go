package engine

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/resp"
)

// newMasterSession returns the session that runs what a master sends. CLIENT LIST shows it while the link
// follows the stream.
func (e *Engine) newMasterSession(f *follower, addr string) *Session {
	s := e.newSession(Peer{Addr: addr, Owner: true, Kill: f.drop, Wake: f.wake})
	s.side.follows = f
	s.tracking.Init(&e.recording.tracking, s.id, &s.inbox.subscriber)
	s.work.ctx.DBIndex = e.repl.stream.Status().DB
	s.work.ctx.Mode.Set(commands.Replayed, true)
	s.who.user.Store(e.accounts.Owner)
	return s
}

// apply runs a command that the master has sent. Nothing refuses it: it has been carried out there. An
// error means that the two servers differ.
func (z *replicaSide) apply(args [][]byte) error {
	s := z.session
	s.work.req = request{}
	s.work.ctx.Reset()
	cmd, refusal := s.engine.table.ResolveOwn(args)
	if cmd == nil || refusal.IsError() {
		return fmt.Errorf("%w: the command %q: %s", replication.ErrForeign, args[0], refusal.Str())
	}
	s.work.calls.begins(cmd)
	if s.tx.open && !cmd.Is(commands.Immediate) {
		s.tx.add(cmd, args)
		return nil
	}
	reply := keyspace{s}.execute(cmd, args)
	s.work.calls.run.Calls++
	s.EndCall()
	if s.work.calls.failed(&reply) {
		s.work.calls.run.Failed++
	}
	if text := firstError(&reply); text != "" {
		return fmt.Errorf("%w: the command %q fails here: %s", replication.ErrForeign, args[0], text)
	}
	return nil
}

// firstError returns the error that a reply is or contains, or "".
func firstError(reply *resp.Value) string {
	if reply.IsError() {
		return reply.Str()
	}
	if reply.Kind() == resp.KindArray {
		for _, v := range reply.Elems() {
			if v.IsError() {
				return v.Str()
			}
		}
	}
	return ""
}

// beginFollowing sets the instant of a command of the master. It is before every deadline: what the
// master has found there is there, whatever the clock says here. Only old masters send commands that
// count from the present.
func (z *replicaSide) beginFollowing(cmd *commands.Command, args [][]byte) {
	s := z.session
	relative := durable.IsRelativeExpiry(cmd.Name, args)
	for i := range s.tx.queued {
		q := &s.tx.queued[i]
		relative = relative || durable.IsRelativeExpiry(q.cmd.Name, q.args)
	}
	if !relative {
		s.engine.store.StampZeroAs(uint32(s.work.ctx.NowUs / 1_000_000))
		s.work.ctx.NowUs, s.work.ctx.NowMs = 0, 0
	}
}

// denyWrites returns why replication refuses writes now, or resp.None.
func (e *Engine) denyWrites(r *replication.Rules) resp.Value {
	switch {
	case r.ReadOnly:
		return errReadOnlyReplica
	case r.MinReplicas > 0 && e.repl.master.Good(e.clock.MonotonicUs(), r.MaxLagUs) < r.MinReplicas:
		return errNoReplicas
	}
	return resp.None
}

// masterIsUp reports whether the server follows its master's stream.
func (e *Engine) masterIsUp() bool {
	l := e.repl.link.Load()
	return l != nil && l.Up()
}

// writeRefusal returns why scripts may not write now, or "".
func (e *Engine) writeRefusal() string {
	if text := e.storage.Misconf(); text != "" {
		return text
	}
	if rules := e.repl.rules.Load(); rules != nil {
		if refusal := e.denyWrites(rules); refusal.IsError() {
			return refusal.Str()
		}
	}
	return ""
}

// staleRefusal returns why scripts may not read now, or "".
func (e *Engine) staleRefusal() string {
	if rules := e.repl.rules.Load(); rules != nil && rules.NeedsMaster && !e.masterIsUp() {
		return errMasterDown.Str()
	}
	return ""
}

// roleName returns the role as HELLO names it.
func (e *Engine) roleName() string {
	if e.repl.link.Load() != nil {
		return "replica"
	}
	return "master"
}
