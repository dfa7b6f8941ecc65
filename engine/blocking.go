package engine

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A Blocked is the wait of a session whose command found no key, until its reply.
// See docs/adr/0006-blocking.md.
//
// It is ended by a command that creates a key, the timeout, CLIENT UNBLOCK or the
// end of the session: by the one that claims the waiter; the others leave it
// alone. To end it is to set a flag and call Peer.Wake. The session's own goroutine
// then gets the reply from Resume.
type Blocked struct {
	session   *Session
	cmd       *commands.Command // nil: the wait is not the command's, so its end is not counted
	wait      *commands.Wait
	waiter    store.Waiter
	awaited   *future           // what it waits for instead of a key
	postponed *postponedCommand // the command that CLIENT PAUSE postpones; nil: it waits for something else
	silent    bool              // CLIENT REPLY: the reply is not sent
	call      *blockedCall      // nil: what the command takes is not measured
	room      *roomWait         // nil: it does not wait for room

	reply resp.Value // written before done, by the one that has claimed the waiter
	last  bool       // likewise: the connection is closed after the reply
	done  atomic.Bool
}

var (
	errPanicked    = resp.Error("ERR the command failed inside the server, whose log says where")
	errUnblocked   = resp.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	errRoleChanged = resp.Error("UNBLOCKED force unblock from blocking operation, instance state changed " +
		"(master -> replica?)")
)

// Blocked returns the session's wait, or nil. While it is not nil, Do must not be
// called.
func (s *Session) Blocked() *Blocked { return s.shown.blocked.Load() }

// Ready reports whether there is something to send without a command: the reply of
// a wait that has ended, or messages. Any goroutine may call it.
func (s *Session) Ready() bool {
	b := s.shown.blocked.Load()
	return b != nil && b.Over() || s.inbox.subscriber.Mail.Ready()
}

// Over reports whether the wait has ended, so that Resume returns the reply.
func (b *Blocked) Over() bool { return b.done.Load() }

// Resume returns the reply of a wait that is Over, or resp.None if none is to be
// sent. The reply is valid until the next Do.
func (s *Session) Resume() resp.Value {
	b := s.shown.blocked.Load()
	b.leaveQueues(false)
	if b.postponed != nil {
		return b.runPostponed()
	}
	if b.last {
		s.ending.closing = true
	}
	if pos, ok := s.engine.storage.End(); ok {
		s.wrote.log = pos // what it was served is in another session's group
	}
	if b.awaited != nil && b.awaited.ended != nil {
		b.awaited.ended()
	}
	if b.silent {
		return s.answers.bound(resp.None)
	}
	return s.answers.bound(b.reply)
}

// TimeoutMs returns after how many milliseconds to call TimeOut; 0: never.
func (b *Blocked) TimeoutMs() int64 { return b.wait.TimeoutMs }

// timed returns 1 if the wait has a timeout, else 0.
func (b *Blocked) timed() int64 {
	if b.wait.Room != nil {
		return 1
	}
	return min(b.wait.TimeoutMs, 1)
}

// TimeOut ends the wait with the reply of a timeout, unless it has ended. A panic ends the client only. Any
// goroutine may call it.
func (b *Blocked) TimeOut() {
	defer b.endOnPanic()
	b.unblock(b.timedOut())
}

func (b *Blocked) timedOut() resp.Value {
	if b.awaited != nil && b.awaited.timedOut != nil {
		return b.awaited.timedOut()
	}
	return b.wait.TimedOut
}

// unblock ends the wait with a reply. It reports whether it had not ended before.
func (b *Blocked) unblock(reply resp.Value) bool {
	if !b.waiter.Claim() {
		return false
	}
	b.countEnd(&reply)
	b.end(reply)
	return true
}

// isOpen reports whether the wait is for something that may never come: a key, or replicas.
func (b *Blocked) isOpen() bool {
	return b.postponed == nil && (b.awaited == nil || b.awaited.timedOut != nil)
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

// countEnd counts a reply that is an error, as a failure of the call.
func (b *Blocked) countEnd(reply *resp.Value) {
	if b.cmd != nil && reply.IsError() {
		b.session.engine.stats.Errors.Count(reply.Str())
		b.countFailure()
	}
}

func (b *Blocked) countFailure() {
	b.session.engine.stats.Add(b.session.id, &commands.CallCount{Cmd: b.cmd, Failed: 1})
}

// end ends the wait. The caller must have claimed the waiter.
func (b *Blocked) end(reply resp.Value) {
	s := b.session
	s.shown.edit(func(p *public) { p.blocked = false })
	s.engine.stats.Blocked.Add(-1) // after edit, and so after the Add of show
	s.engine.stats.TimedWaits.Add(-b.timed())
	if b.call != nil && b.call.timed {
		s.engine.stats.Latency(b.cmd).Add(b.call.ranUs)
	}
	b.awaited.cancel()
	b.reply = reply
	if s.inbox.subscriber.Mail.IsOpen() && !b.silent { // so that it takes its place among the messages
		s.inbox.subscriber.Mail.Put(pubsub.NewMessage(reply), s.engine.broker.Limit(&s.inbox.subscriber))
		b.silent = true
	}
	b.done.Store(true)
	s.inbox.subscriber.WakeUp()
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

// endOnPanic is deferred: it logs a panic, and ends the wait and then the connection.
func (b *Blocked) endOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	s := b.session
	logPanic(s, p)
	switch {
	case b.waiter.Claim():
		b.last = true
		if b.awaited != nil {
			b.awaited.ended = nil
		}
		b.countEnd(&errPanicked)
		b.end(errPanicked)
	case !b.done.Load() && s.peer.Kill != nil: // the panic came while the wait ended: it would go on forever
		s.peer.Kill()
	}
}

// logPanic logs what a deferred function has recovered.
func logPanic(s *Session, p any) {
	s.engine.options.Log.Warn(fmt.Sprintf("panic: %v", p), "id", s.ID(), "stack", string(debug.Stack()))
}

// show sets the session's wait. A client that finds it in INFO's count finds
// it in CLIENT LIST and can unblock it.
func (b *Blocked) show() {
	s := b.session
	s.shown.edit(func(p *public) {
		p.blocked = true
		s.shown.blocked.Store(b)
		s.engine.stats.Blocked.Add(1)
		s.engine.stats.TimedWaits.Add(b.timed())
	})
}

// leaveQueues removes the session from the queues of the keys that it waited for.
// If another session has served it, that session holds one of the shards until it
// has finished. Otherwise the removal can be left to Tick: a script may hold the
// shards for long.
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
		s.engine.stats.Blocked.Add(-1)
		s.engine.stats.TimedWaits.Add(-b.timed())
		b.awaited.cancel()
	}
	b.leaveQueues(!ours && !b.Over())
	if b.postponed != nil {
		s.engine.pause.finished(b)
	}
}

// A future is a reply that is computed beside the session: of a command that waits
// for a file to be written or synced, or for its own timeout.
type future struct {
	// run returns the reply, or resp.None if the wait ends in another way. It
	// returns soon after over is closed.
	run func(over <-chan struct{}) resp.Value
	// timedOut returns the reply if the time is up first; nil: there is no timeout.
	timedOut func() resp.Value

	over chan struct{} // closed when the wait has ended

	ended func() // is called by Resume; it may be nil
}

// Await blocks the session, as on a key, until run returns the reply, for timeoutMs
// milliseconds at most; 0 means no limit. It returns resp.None at once. A command
// of EXEC must not call it.
func (s *Session) Await(
	timeoutMs int64, run func(over <-chan struct{}) resp.Value, timedOut func() resp.Value,
) resp.Value {
	s.work.req.awaited = &future{run: run, timedOut: timedOut, over: make(chan struct{})}
	s.work.ctx.Waiting = &commands.Wait{TimeoutMs: timeoutMs}
	return resp.None
}

// cancel makes run return. Only the goroutine that has claimed the waiter calls it.
func (f *future) cancel() {
	if f != nil {
		close(f.over)
	}
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

var errUnblockReason = resp.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")

// serve gives the elements under keys that sessions wait for to those that wait
// longest, before any other session can see them. The order is Redis': key by key
// as commands created them, then those that serving created.
func (k keyspace) serve(shards store.ShardSet) {
	s := k.session
	st := s.engine.store
	for ready := st.DrainReady(shards); len(ready) > 0; ready = st.DrainReady(shards) {
		for _, ready := range ready {
			if ready.Want == store.Change {
				k.serveRoom(ready)
			} else {
				k.serveKey(ready)
			}
		}
	}
}

func (k keyspace) serveKey(ready store.ReadyKey) {
	s := k.session
	e, c := s.engine, &s.work.ctx
	db, key := e.store.DB(ready.DB), []byte(ready.Key)
	for w := range e.store.Waiters(ready) {
		n := db.Find(key, c.NowMs)
		if n == nil {
			return
		}
		b := w.Owner.(*Blocked)
		if !b.wait.Wants(n) || !w.Claim() {
			continue
		}
		// Its session does nothing meanwhile, so its Ctx can be used.
		own := &b.session.work.ctx
		settings := own.Settings
		own.DB, own.NowMs, own.NowUs, own.Settings = db, c.NowMs, c.NowUs, c.Settings
		s.engine.preserveFor(b.wait, db, key)
		k.recordFor(own)
		b.reply = b.measured(func() resp.Value { return b.wait.Take(own, n) })
		s.work.rec.invalidateServed(b.session, ready)
		own.Env.Record(nil)
		own.Settings = settings
		s.work.req.served = append(s.work.req.served, b)
	}
}

// recordFor makes what own changes part of what the command under way does, behind its changes, as in Redis,
// where the pop follows the push.
func (k keyspace) recordFor(own *commands.Ctx) {
	s := k.session
	group := s.work.ctx.Group()
	if group != nil {
		group.Separate()
		group.SetEvent(own.Cmd.ChangeEvent())
	}
	own.Env.Record(group)
	s.work.rec.invalidate()
	s.EndCall()
}
