package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// An executor runs what a session has admitted.
type executor interface {
	// run runs a command and returns its reply, or resp.None if that comes later.
	run(cmd *commands.Command, args [][]byte) resp.Value
	// refuseQueued returns the error reply for a command that EXEC could not run, or resp.None.
	refuseQueued(cmd *commands.Command, args [][]byte) resp.Value
	// finish returns the reply of Do for that of its command: behind those of the calls before it.
	finish(reply resp.Value) resp.Value
	// flush runs the calls that run has put off, and returns their replies.
	flush() resp.Value
}

// keyspace runs commands on the keys of the engine.
type keyspace struct{ session *Session }

func (k keyspace) run(cmd *commands.Command, args [][]byte) resp.Value { return k.execute(cmd, args) }

func (keyspace) refuseQueued(*commands.Command, [][]byte) resp.Value { return resp.None }

func (k keyspace) finish(reply resp.Value) resp.Value {
	s := k.session
	if !s.work.req.postponed { // else what CLIENT REPLY SKIP is for is still to come
		reply = s.answers.bound(s.answers.apply(reply))
	}
	if len(s.inbox.waiting) > 0 {
		reply = s.inbox.before(reply)
	}
	return reply
}

func (keyspace) flush() resp.Value { return resp.None }

// execute locks the command's shards and runs it.
func (k keyspace) execute(cmd *commands.Command, args [][]byte) resp.Value {
	s := k.session
	if cmd.Locks != nil {
		return k.executeScript(cmd, args)
	}
	shards := cmd.Shards(args)
	if cmd.Is(commands.Stepwise) {
		shards = 0
	}
	if cmd.Is(commands.Transaction) {
		shards |= s.tx.shards()
	}
	reply := k.executeIn(shards, cmd, args)
	if reply.IsError() && s.work.ctx.Full != nil {
		return k.executeAgain(shards, cmd, args, reply)
	}
	return reply
}

// executeAgain is called when a command was refused because a prefix is full. Keys
// count until they are reclaimed: so it reclaims what has expired, and runs the command
// again if there is room then. It first reclaims as little as makes room for one key,
// and if the command needs more, everything.
func (k keyspace) executeAgain(
	shards store.ShardSet, cmd *commands.Command, args [][]byte, reply resp.Value,
) resp.Value {
	s := k.session
	c := &s.work.ctx
	for _, all := range [...]bool{false, true} {
		full := c.Full
		c.Full, c.Retry = nil, false
		if !s.engine.room.ReclaimPrefix(full, c.NowMs, all) {
			full.Refuse()
			if s.work.ctx.Env.Shown() {
				s.seen.showTrace() // end did not, because of Retry
			}
			break
		}
		c.Mode.Set(commands.Final, all)
		reply = k.executeIn(shards, cmd, args)
		c.Mode.Set(commands.Final, false)
		if c.Full == nil {
			break
		}
	}
	return reply
}

// executeScript is execute for commands whose row has Locks.
func (k keyspace) executeScript(cmd *commands.Command, args [][]byte) resp.Value {
	s := k.session
	c := &s.work.ctx
	shards := cmd.Locks(c, args)
	c.Mode.Set(commands.MayRetry, shards != store.AllShards)
	reply := k.executeIn(shards, cmd, args)
	c.Mode.Set(commands.MayRetry, false)
	if c.Retry {
		c.Retry = false
		c.Out.Reset()
		s.work.req.again = true
		reply = k.executeIn(store.AllShards, cmd, args)
	}
	c.Remember(nil)
	return reply
}

// executeIn runs a command with a set of shards locked.
func (k keyspace) executeIn(shards store.ShardSet, cmd *commands.Command, args [][]byte) resp.Value {
	s := k.session
	if s.engine.storage.Logging() && (cmd.Is(commands.Write) || cmd.Locks != nil || len(s.tx.queued) > 0) {
		if !s.work.calls.waitForSpace() {
			s.ending.canceled = true
			return errCanceled
		}
	}
	s.order.runEarlierFirst(shards, cmd, args)
	shards, busy := s.engine.locks.lock(s, shards)
	for busy == nil && s.work.req.rules != s.engine.repl.rules.Load() && s.side.follows == nil {
		// The role may have changed since the command was admitted.
		s.engine.store.Unlock(shards)
		if refusal := s.admit(cmd, args); refusal.IsError() {
			return s.tx.reject(cmd, refusal)
		}
		shards, busy = s.engine.locks.lock(s, shards)
	}
	if busy != nil {
		return k.executeWhileBusy(cmd, args, busy)
	}
	defer k.end(shards)
	if s.engine.locks.torn.has(shards) {
		s.ending.closing = true
		return resp.None
	}
	if s.side.follows != nil && s.side.follows.over() {
		return resp.None
	}
	s.work.ctx.Unheld = ^shards
	if wanted := s.engine.recording.wanted(); wanted != 0 {
		s.work.rec.begin(shards, wanted)
	}
	if s.answers.noTouch {
		s.work.req.untouched = shards
		s.engine.store.NoTouch(shards, true)
	}
	k.begin()
	k.serveDue(shards)
	if s.side.follows != nil {
		s.side.beginFollowing(cmd, args)
	}
	s.work.req.locked = shards != 0
	s.work.ctx.Mode.Set(commands.MayWait, cmd.Flags&(commands.Blocking|commands.WaitsRoom) != 0)
	s.work.ctx.Mode.Set(commands.MayStream, s.peer.Streams && !cmd.Is(commands.Transaction))
	s.work.ctx.Waiting = nil
	reply := s.work.calls.measure(cmd, args)
	if s.work.ctx.Cut != commands.CutNone {
		return k.drop(shards, reply)
	}
	if w := s.work.ctx.Waiting; w != nil {
		s.block(w, args)
	}
	k.serve(shards)
	s.work.rec.notify()
	s.work.rec.invalidate()
	if !s.work.req.again { // else what the first run has sent the session would precede the reply
		s.inbox.collect()
	}
	return reply
}

// begin sets the instant and the settings of a command, script or EXEC.
func (k keyspace) begin() {
	s := k.session
	c := &s.work.ctx
	var monotonicUs int64
	c.NowUs, monotonicUs = s.engine.clock.Read()
	s.work.calls.open(monotonicUs)
	c.NowMs = c.NowUs / 1000
	if settings := s.engine.cfg.settings.Load(); settings != c.Settings {
		s.work.calls.adopt(settings)
	}
	if r := s.who.restriction(); r != s.who.guard.rules {
		s.who.setGuard(r)
	}
	if on := s.engine.observers.traces.On(); on != (s.work.calls.limits.Tracer != nil) {
		s.seen.setTracer(on)
	}
	s.work.ctx.Env.Preserve(s.engine.store.Snapshot() != nil)
	if watched := s.engine.observers.monitored.Load(); watched || s.work.ctx.Env.Shown() {
		s.seen.beginTrace(watched)
	}
	if s.work.ctx.Env.Observed() || s.engine.observers.doctor.On() {
		s.seen.observe()
	}
}

// end unlocks the shards of a command, script or EXEC. Its changes are in the
// journal before anybody can see them or receive a message about them.
func (k keyspace) end(shards store.ShardSet) {
	s := k.session
	recorded := s.work.rec.on
	if recorded {
		s.work.rec.notify()
		s.work.rec.invalidate()
		s.work.rec.commit(shards)
		if s.engine.recording.tracks() {
			s.work.invalid.Evict(shards)
		}
		s.work.invalid.SendBeforeReply()
	}
	if s.side.follows != nil && shards != 0 && !s.tx.open && !s.ending.closing && !s.side.follows.over() {
		s.side.follows.commit()
	}
	if s.work.ctx.Env.Shown() {
		s.seen.showTrace()
	}
	for _, b := range s.work.req.served {
		b.countEnd(&b.reply)
		b.end(b.reply)
	}
	s.work.req.served = nil
	if recorded {
		s.work.invalid.SendAfterReplies()
	}
	s.engine.broker.Release(&s.inbox.subscriber)
	if s.work.req.untouched != 0 {
		s.engine.store.NoTouch(s.work.req.untouched, false)
		s.work.req.untouched = 0
	}
	s.engine.store.Unlock(shards)
}
