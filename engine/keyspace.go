package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// keyspace runs commands on the keys of the engine.
type keyspace struct{ session *Session }

// A run is a command, script or EXEC while it holds its shards. begin and end are called as
//
//	defer k.begin(shards).end()
type run struct {
	session *Session
	shards  store.ShardSet
}

// begin begins a run in shards that are locked: it sets its instant and its settings.
func (k keyspace) begin(shards store.ShardSet) run {
	s := k.session
	e, w := s.engine, s.work
	c, env := &w.ctx, &w.env
	c.Unheld = ^shards
	if wanted := e.recording.wanted(); wanted != 0 {
		w.rec.begin(shards, wanted)
	}
	if s.answers.noTouch {
		w.req.untouched = shards
		e.store.NoTouch(shards, true)
	}
	var monotonicUs int64
	c.NowUs, monotonicUs = e.clock.Read()
	w.calls.open(monotonicUs)
	c.NowMs = c.NowUs / 1000
	if settings := e.cfg.settings.Load(); settings != c.Settings {
		w.calls.adopt(settings)
	}
	if r := s.who.restriction(); r != s.who.guard.rules {
		s.who.setGuard(r)
	}
	if on := e.observers.traces.On(); on != (w.calls.limits.Tracer != nil) {
		s.seen.setTracer(on)
	}
	env.Preserve(e.store.Snapshot() != nil)
	if watched := e.observers.monitored.Load(); watched || env.Shown() {
		s.seen.beginTrace(watched)
	}
	if env.Observed() || e.observers.doctor.On() {
		s.seen.observe()
	}
	return run{s, shards}
}

// end unlocks the shards of a run. Its changes are in the journal before anybody can see them or receive a
// message about them.
func (r run) end() {
	s, shards := r.session, r.shards
	e, w := s.engine, s.work
	recorded := w.rec.on
	if recorded {
		w.rec.notify()
		w.rec.invalidate()
		w.rec.commit(shards)
		if e.recording.tracks() {
			w.invalid.Evict(shards)
		}
		w.invalid.SendBeforeReply()
	}
	if s.side.follows != nil && shards != 0 && !s.tx.open && !s.ending.closing && !s.side.follows.over() {
		s.side.follows.commit()
	}
	if w.env.Shown() {
		s.seen.showTrace()
	}
	for _, b := range w.req.served {
		b.countEnd(&b.reply)
		b.end(b.reply)
	}
	w.req.served = nil
	if recorded {
		w.invalid.SendAfterReplies()
	}
	e.broker.Release(&s.inbox.subscriber)
	if w.req.untouched != 0 {
		e.store.NoTouch(w.req.untouched, false)
		w.req.untouched = 0
	}
	e.store.Unlock(shards)
}

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

// serveApart serves the calls of some shards beside any command. It reports whether it could.
func (k keyspace) serveApart(shards store.ShardSet) bool {
	s := k.session
	e := s.engine
	s.work.req = request{}
	shards, busy := e.locks.lock(s, shards)
	if busy != nil {
		return false
	}
	if e.locks.torn.has(shards) {
		e.store.Unlock(shards)
		return false
	}
	defer s.work.calls.flush()
	defer k.begin(shards).end()
	k.serveDue(shards)
	k.serve(shards)
	return true
}

// serveDue serves the calls that are due before the command under way runs: they came before it.
func (k keyspace) serveDue(shards store.ShardSet) {
	s := k.session
	w, c := &s.engine.locks.waits, &s.work.ctx
	if w.firstMs.Load() > c.NowMs || s.engine.pause.On() {
		return
	}
	due := w.take(shards, c.NowMs)
	for _, b := range due {
		k.look(b)
		k.serve(shards)
	}
	if len(due) > 0 {
		s.work.rec.commitSoFar()
	}
}

// serveRoom looks at the first call that waits for room in a key, which has changed.
func (k keyspace) serveRoom(key store.ReadyKey) {
	for w := range k.session.engine.store.Waiters(key) {
		k.look(w.Owner.(*Blocked))
		return
	}
}

// look calls a command again if it may have come to its turn, and says when to look next.
func (k keyspace) look(b *Blocked) {
	s := k.session
	e, nowMs := s.engine, s.work.ctx.NowMs
	w, room := &e.locks.waits, b.wait.Room
	if b.room.over.Load() {
		room.UntilMs = min(room.UntilMs, nowMs)
	}
	switch {
	case b.waiter.Claimed():
		w.leave(b)
	case e.pause.On():
		w.lookAt(b, 0)
	case e.store.IsFirst(&b.waiter) || room.IsOver(nowMs):
		k.callAgain(b)
	default:
		w.lookAt(b, room.UntilMs)
	}
}

// callAgain calls the handler of a call that waits.
func (k keyspace) callAgain(b *Blocked) {
	s, r := k.session, b.room
	e, c, own := s.engine, &s.work.ctx, &b.room.ctx
	r.env.Limits = s.work.env.Limits
	own.Settings, own.NowMs, own.NowUs = c.Settings, c.NowMs, c.NowUs
	own.Store, own.DB = c.Store, e.store.DB(own.DBIndex)
	own.Reset()
	own.Call(b.cmd, r.args)
	own.Waiting = b.wait
	for _, key := range b.wait.Keys {
		e.preserveFor(b.wait, own.DB, key)
	}
	k.recordFor(own)
	reply, panicked := b.again()
	s.work.rec.invalidateServed(b.session, store.ReadyKey{DB: own.DBIndex, Key: string(b.wait.Keys[0])})
	r.env.Record(nil)
	own.Waiting = nil
	switch {
	case reply.Kind() == resp.KindNone && !b.waiter.Claimed():
		e.locks.waits.lookAt(b, e.locks.waits.nextLook(b))
	case r.claimed || reply.IsError() && b.waiter.Claim():
		b.reply, b.last = reply, panicked
		b.ranAgain(r.ranUs)
		e.locks.waits.leave(b)
		s.work.req.served = append(s.work.req.served, b)
	default: // it was ended meanwhile
		e.locks.waits.leave(b)
	}
}

// again runs the handler. A panic ends the client only.
func (b *Blocked) again() (reply resp.Value, panicked bool) {
	s, own := b.session, &b.room.ctx
	defer func() {
		if p := recover(); p != nil {
			logPanic(s, p)
			reply, panicked = errPanicked, true
		}
	}()
	if b.call == nil {
		return b.cmd.Handler(own), false
	}
	startUs := s.engine.clock.MonotonicUs()
	reply = b.cmd.Handler(own)
	b.room.ranUs += s.engine.clock.MonotonicUs() - startUs
	return reply, false
}

// preserveFor leaves a snapshot the keys that serving a waiter is about to change.
func (e *Engine) preserveFor(w *commands.Wait, db *store.DB, key []byte) {
	if e.store.Snapshot() == nil {
		return
	}
	db.Preserve(key)
	if w.Target != nil {
		db.Preserve(w.Target)
	}
}
