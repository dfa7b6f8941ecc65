package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errUnblockReason = resp.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	errUnblocked     = resp.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	errRoleChanged   = resp.Error("UNBLOCKED force unblock from blocking operation, instance state changed " +
		"(master -> replica?)")
)

// Blocked returns the session's wait, or nil. While it is not nil, Do must not be called.
func (s *Session) Blocked() *Blocked { return s.shown.blocked.Load() }

// Ready reports whether there is something to send without a command: the reply of
// a wait that has ended, or messages. Any goroutine may call it.
func (s *Session) Ready() bool {
	b := s.shown.blocked.Load()
	return b != nil && b.Over() || s.inbox.subscriber.Mail.Ready()
}

// endWaits ends the waits for keys and for replicas, and then the connections, since the server becomes a
// replica. Every shard must be locked.
func (e *Engine) endWaits() {
	for _, s := range e.sessions.all() {
		b := s.shown.blocked.Load()
		if b == nil || !b.isOpen() {
			continue
		}
		if b.waiter.Claim() {
			b.last = true
			b.countEnd(&errRoleChanged)
			b.end(errRoleChanged)
		}
	}
}

// block makes the session wait. The shards of the command that found no key are
// still locked, so no push can come between.
func (s *Session) block(w *commands.Wait, args [][]byte) {
	b := &Blocked{session: s, cmd: s.work.ctx.Cmd, wait: w, silent: s.answers.quiet()}
	b.awaited, s.work.req.awaited = s.work.req.awaited, nil
	b.waiter.Owner = b
	b.call = s.work.calls.suspend(args)
	if w.Room != nil {
		b.waitForRoom(args)
	}
	b.show()
	switch {
	case b.awaited != nil:
		go b.await()
	case w.Room != nil:
		s.engine.locks.waits.enter(b)
	default:
		s.work.ctx.DB.Wait(&b.waiter, w.Keys, w.Target)
	}
}

// await runs the future. A panic ends the client only, as one in a command does.
func (b *Blocked) await() {
	defer b.endOnPanic()
	reply := b.awaited.run(b.awaited.over)
	if b.awaited.timedOut == nil {
		b.logRun()
	}
	if reply.Kind() != resp.KindNone {
		b.unblock(reply)
	}
}

// leaveQueues removes the session from the queues of the keys that it waited for. If another session has
// served it, that session holds one of the shards until it has finished. Otherwise the removal can be left to
// Tick: a script may hold the shards for long.
func (b *Blocked) leaveQueues(served bool) {
	s := b.session
	st := s.engine.store
	shards := b.waiter.Shards()
	switch {
	case b.awaited != nil || b.postponed != nil: // it is in no queue
		s.shown.blocked.Store(nil)
		return
	case b.room != nil: // who holds the shards removes it
		if served {
			st.Lock(shards)
			st.Unlock(shards)
		}
		s.shown.blocked.Store(nil)
		s.shown.countNames()
		s.engine.locks.waits.left(b)
		return
	case served:
		st.Lock(shards)
	case !st.TryLock(shards):
		s.engine.locks.orphans.addWaiter(&b.waiter)
		s.shown.blocked.Store(nil)
		return
	}
	st.RemoveWaiter(&b.waiter)
	st.Unlock(shards)
	s.shown.blocked.Store(nil)
}

// stopWaiting ends the wait of a session that ends.
func (s *Session) stopWaiting() {
	b := s.shown.blocked.Load()
	if b == nil {
		return
	}
	ours := b.waiter.Claim()
	if ours {
		b.count(-1)
		b.awaited.cancel()
	}
	b.leaveQueues(!ours && !b.Over())
	if b.postponed != nil {
		s.engine.pause.Finished(&b.postponed.Command)
	}
}

// Await blocks the session, as on a key, until run returns the reply, for timeoutMs milliseconds at most; 0
// means no limit. It returns resp.None at once. A command of EXEC must not call it.
func (s *Session) Await(
	timeoutMs int64, run func(over <-chan struct{}) resp.Value, timedOut func() resp.Value,
) resp.Value {
	s.work.req.awaited = &future{run: run, timedOut: timedOut, over: make(chan struct{})}
	s.work.ctx.Waiting = &commands.Wait{TimeoutMs: timeoutMs}
	return resp.None
}

// CLIENT UNBLOCK client-id [TIMEOUT | ERROR]
func clientUnblock(c *commands.Ctx) resp.Value {
	failing := false
	switch {
	case len(c.Args) > 4:
		return commands.WrongSubcommandArity(c)
	case len(c.Args) == 4 && commands.EqualFold(c.Args[3], "error"):
		failing = true
	case len(c.Args) == 4 && !commands.EqualFold(c.Args[3], "timeout"):
		return errUnblockReason
	}
	id, ok := store.ParseInt(c.Args[2])
	if !ok {
		return commands.ErrNotInteger
	}
	o := caller(c).engine.sessions.find(id)
	if o == nil {
		return resp.Int(0)
	}
	b := o.shown.blocked.Load()
	if b == nil || !b.isOpen() {
		return resp.Int(0)
	}
	if b.room != nil && !failing {
		if b.waiter.Claimed() {
			return resp.Int(0)
		}
		s := caller(c)
		s.engine.locks.waits.endTime(b)
		return resp.Int(1)
	}
	reply := b.timedOut()
	if failing {
		reply = errUnblocked
	}
	if !b.unblock(reply) {
		return resp.Int(0)
	}
	if failing { // as in Redis both calls have failed, and without ERROR the one that waits
		c.Errors = commands.ErrorsCounted
	} else {
		b.countFailure()
	}
	return resp.Int(1)
}
