package engine

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

// A Blocked is a session's waiting for a key, from the command that found
// nothing to the reply. See docs/adr/0006-blocking.md.
//
// Four may end it: whoever makes a key, the timeout, CLIENT UNBLOCK, and the
// session's own end. The one who claims the waiter does, the others leave it
// alone. Ending it is a flag and a call of Peer.Wake; the session's own
// goroutine then takes the reply with Resume.
type Blocked struct {
	session *Session
	wait    *commands.Wait
	waiter  store.Waiter
	errand  *errand // what it waits for, where that is no key
	silent  bool    // CLIENT REPLY: the reply is not sent
	held    *held   // the command that CLIENT PAUSE holds; nil: it waits for something else

	reply resp.Value // written before done, by the one who has claimed the waiter
	done  atomic.Bool
}

var errUnblocked = resp.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")

// Blocked returns what the session waits for, nil where it does not. While it
// is not nil, Do must not be called. It belongs to the session's goroutine.
func (s *Session) Blocked() *Blocked { return s.blocked.Load() }

// Ready reports whether there is something to send that no command asks for: a
// wait is over, or messages have come.
func (s *Session) Ready() bool {
	b := s.blocked.Load()
	return b != nil && b.Over() || s.subscriber.Mail.Ready()
}

// Over reports whether the wait has ended, so that Resume returns the reply.
func (b *Blocked) Over() bool { return b.done.Load() }

// Resume ends a wait that is over and returns the reply, resp.None where none
// is to be sent. It requires that Blocked is Over. The reply is valid until the next Do.
func (s *Session) Resume() resp.Value {
	b := s.blocked.Load()
	s.leave(b, false)
	if b.held != nil {
		return s.proceed(b)
	}
	if pos, ok := s.engine.storage.End(); ok {
		s.written = pos // what it was served is in another session's group
	}
	if b.silent {
		return resp.None
	}
	return b.reply
}

// TimeoutMs is after how many milliseconds TimeOut is to be called; 0: never.
func (b *Blocked) TimeoutMs() int64 { return b.wait.TimeoutMs }

// timed is 1 where the wait has a timeout, else 0.
func (b *Blocked) timed() int64 { return min(b.wait.TimeoutMs, 1) }

// TimeOut ends the wait as its timeout does, unless it has ended already. Any
// goroutine may call it.
func (b *Blocked) TimeOut() { b.giveUp(b.timedOut()) }

func (b *Blocked) timedOut() resp.Value {
	if b.errand != nil && b.errand.timedOut != nil {
		return b.errand.timedOut()
	}
	return b.wait.TimedOut
}

// giveUp ends the wait without serving it. It reports whether it still lasted.
func (b *Blocked) giveUp(reply resp.Value) bool {
	if !b.waiter.Claim() {
		return false
	}
	b.end(reply)
	return true
}

// end is for the one who has claimed the waiter.
func (b *Blocked) end(reply resp.Value) {
	s := b.session
	s.edit(func(p *public) { p.blocked = false })
	s.engine.stats.blocked.Add(-1) // behind edit, and so behind block's Add
	s.engine.stats.timedWaits.Add(-b.timed())
	b.errand.end()
	b.reply = reply
	if s.subscriber.Mail.IsOpen() && !b.silent { // so that it takes its place among the messages
		s.subscriber.Mail.Put(pubsub.NewMessage(reply), s.engine.broker.Limit(&s.subscriber))
		b.silent = true
	}
	b.done.Store(true)
	s.subscriber.WakeUp()
}

// block makes the session wait. The shards of the command that found nothing
// are still held, so that no push can come between.
func (s *Session) block(w *commands.Wait) {
	b := &Blocked{session: s, wait: w, silent: s.replies == replyOff || s.replies == replySkip}
	b.errand, s.errand = s.errand, nil
	b.waiter.Owner = b
	s.showBlocked(b)
	if b.errand == nil {
		s.ctx.DB.Wait(&b.waiter, w.Keys, w.Target)
		return
	}
	go func() {
		if reply := b.errand.run(b.errand.over); reply.Kind() != resp.KindNone {
			b.giveUp(reply)
		}
	}()
}

// showBlocked makes b what the session waits for. Whoever finds it counted finds
// it in CLIENT LIST, and can unblock it.
func (s *Session) showBlocked(b *Blocked) {
	s.edit(func(p *public) {
		p.blocked = true
		s.blocked.Store(b)
		s.engine.stats.blocked.Add(1)
		s.engine.stats.timedWaits.Add(b.timed())
	})
}

// leave takes the session out of the lines it stands in. Whoever may be serving
// it holds one of those shards, and has finished when they are ours; where
// nobody is, the lines need not be left at once: a script may have them for long.
func (s *Session) leave(b *Blocked, served bool) {
	st := s.engine.store
	shards := b.waiter.Shards()
	switch {
	case b.errand != nil || b.held != nil: // it stands in no line
		s.blocked.Store(nil)
		return
	case served:
		st.Lock(shards)
	case !st.TryLock(shards):
		s.engine.forsaken.addWaiter(&b.waiter)
		s.blocked.Store(nil)
		return
	}
	st.Leave(&b.waiter)
	st.Unlock(shards)
	s.blocked.Store(nil)
}

// abandon ends the wait of a session that ends.
func (s *Session) abandon() {
	b := s.blocked.Load()
	if b == nil {
		return
	}
	ours := b.waiter.Claim()
	if ours {
		s.engine.stats.blocked.Add(-1)
		b.errand.end()
	}
	s.leave(b, !ours && !b.Over())
	if b.held != nil {
		s.engine.pause.gone(b)
	}
}

// lock takes the locks of a command's shards, and those that serving waiters
// at their keys may change besides. It returns what it has locked; or nothing,
// and what to answer, where a script past busy-reply-threshold is in the way.
func (e *Engine) lock(shards store.ShardSet) (store.ShardSet, *scripting.Busy) {
	for {
		if busy := e.lockUnlessBusy(shards); busy != nil {
			return 0, busy
		}
		reach := e.store.Reach(shards)
		if reach == shards {
			return shards, nil
		}
		// Locks are taken lowest first, so it has to be done over. The set only
		// grows, so that this ends.
		e.store.Unlock(shards)
		shards = reach
	}
}

// serve gives what a command, script or EXEC has left under keys that somebody
// waits for to those who wait longest, before anybody else can see it. The
// order is Redis': key by key as they came into being, and those that serving
// brings into being behind them.
func (s *Session) serve(shards store.ShardSet) {
	st := s.engine.store
	for ready := st.TakeReady(shards); len(ready) > 0; ready = st.TakeReady(shards) {
		for _, k := range ready {
			s.serveKey(k)
		}
	}
}

func (s *Session) serveKey(k store.ReadyKey) {
	e, c := s.engine, &s.ctx
	db, key := e.store.DB(k.DB), []byte(k.Key)
	for w := range e.store.Waiters(k) {
		n := db.Find(key, c.NowMs)
		if n == nil {
			return
		}
		b := w.Owner.(*Blocked)
		if !b.wait.Wants(n) || !w.Claim() {
			continue
		}
		// Its session does nothing meanwhile: Ctx is ours.
		own := &b.session.ctx
		own.DB, own.NowMs, own.NowUs, own.Settings = db, c.NowMs, c.NowUs, c.Settings
		s.engine.preserveFor(b.wait, db, key)
		if own.Group = c.Group; own.Group != nil {
			own.Group.Cut() // as in Redis: what is popped follows what was pushed
			own.Group.As(own.Cmd.ChangeEvent())
		}
		s.invalidate()
		b.reply = b.wait.Take(own, n)
		s.invalidateServed(b.session, k)
		own.Group = nil
		s.served = append(s.served, b)
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
	b := o.blocked.Load()
	if b == nil || b.held != nil {
		return resp.Int(0)
	}
	reply := b.timedOut()
	if failing {
		reply = errUnblocked
	}
	if !b.giveUp(reply) {
		return resp.Int(0)
	}
	return resp.Int(1)
}

var errUnblockReason = resp.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
