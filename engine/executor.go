package engine

import (
	"runtime"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
	"github.com/zlimit/zlimit/store"
)

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
	reply := k.executeIn(shards, cmd, args, 0)
	if reply.IsError() && s.work.ctx.Full != nil {
		return k.executeAgain(shards, cmd, args, reply)
	}
	return reply
}

// executeAgain is called when a command was refused because a prefix is full. Keys count until they are
// reclaimed: so it reclaims what has expired, and runs the command again if there is room then. It first
// reclaims as little as makes room for one key, and if the command needs more, everything.
func (k keyspace) executeAgain(
	shards store.ShardSet, cmd *commands.Command, args [][]byte, reply resp.Value,
) resp.Value {
	s := k.session
	c := &s.work.ctx
	for _, mode := range [...]commands.Mode{0, commands.Final} {
		full := c.Full
		c.Full, c.Retry = nil, false
		if !s.engine.room.ReclaimPrefix(full, c.NowMs, mode.Is(commands.Final)) {
			full.Refuse()
			if s.work.ctx.Env.Shown() {
				s.seen.showTrace() // end did not, because of Retry
			}
			break
		}
		reply = k.executeIn(shards, cmd, args, mode)
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
	var mode commands.Mode
	mode.Set(commands.MayRetry, shards != store.AllShards)
	reply := k.executeIn(shards, cmd, args, mode)
	if c.Retry {
		c.Retry = false
		c.Out.Reset()
		s.work.req.again = true
		reply = k.executeIn(store.AllShards, cmd, args, 0)
	}
	return reply
}

// lasting are the modes that are the session's, or were found when the command was admitted. The others are
// of one run.
const lasting = commands.Replayed | commands.OutOfMemory

// executeIn runs a command with a set of shards locked, in a mode.
func (k keyspace) executeIn(
	shards store.ShardSet, cmd *commands.Command, args [][]byte, mode commands.Mode,
) resp.Value {
	s := k.session
	e, w := s.engine, s.work
	if e.storage.Logging() && (cmd.Is(commands.Write) || cmd.Locks != nil || len(s.tx.queued) > 0) {
		if !w.calls.waitForSpace() {
			s.ending.canceled = true
			return errCanceled
		}
	}
	s.order.runEarlierFirst(shards, cmd, args)
	shards, busy := e.locks.lock(s, shards)
	for busy == nil && w.req.rules != e.repl.rules.Load() && s.side.follows == nil {
		// The role may have changed since the command was admitted.
		e.store.Unlock(shards)
		if refusal := s.admit(cmd, args); refusal.IsError() {
			return s.tx.reject(cmd, refusal)
		}
		shards, busy = e.locks.lock(s, shards)
	}
	if busy != nil {
		return k.executeWhileBusy(cmd, args, busy)
	}
	if torn := e.locks.torn.has(shards); torn || s.side.follows != nil && s.side.follows.over() {
		s.ending.closing = s.ending.closing || torn
		e.store.Unlock(shards)
		return resp.None
	}
	defer k.begin(shards).end()
	k.serveDue(shards)
	if s.side.follows != nil {
		s.side.beginFollowing(cmd, args)
	}
	mode.Set(commands.MayWait, cmd.Flags&(commands.Blocking|commands.WaitsRoom) != 0)
	mode.Set(commands.MayStream, s.peer.Streams && !cmd.Is(commands.Transaction))
	w.ctx.Mode = w.ctx.Mode&lasting | mode
	reply := w.calls.measure(cmd, args)
	if w.ctx.Cut != commands.CutNone {
		return k.drop(shards, reply)
	}
	if w.ctx.Waiting != nil {
		s.block(w.ctx.Waiting, args)
	}
	k.serve(shards)
	w.rec.notify()
	w.rec.invalidate()
	if !w.req.again { // else what the first run has sent the session would precede the reply
		s.inbox.collect()
	}
	return reply
}

// executeWhileBusy runs a command whose shards a script holds. The commands that Redis runs all the same need
// shards only for watched keys: these are unwatched later, and a key that WATCH names now counts as changed.
func (k keyspace) executeWhileBusy(cmd *commands.Command, args [][]byte, busy *scripting.Busy) resp.Value {
	s := k.session
	if refusal := refuseBehind(s, busy, cmd, args); refusal.IsError() {
		return s.tx.reject(cmd, refusal)
	}
	if len(cmd.Keys) == 0 { // all but WATCH
		s.tx.orphanWatch()
	}
	defer k.begin(0).end()
	s.work.ctx.Mode &= lasting
	return s.work.calls.measure(cmd, args)
}

// drop ends a command whose script was killed. Its effects are dropped, and no blocked session is served.
func (k keyspace) drop(shards store.ShardSet, reply resp.Value) resp.Value {
	s := k.session
	c := &s.work.ctx
	if c.Cut == commands.CutHalf && (!s.work.rec.on || s.work.rec.group.Len() > 0) {
		s.work.rec.group.Reset()
		if !s.engine.locks.torn.any() {
			s.engine.options.Log.Warn("a script that had written was ended: nothing of it is kept")
		}
		s.engine.locks.torn.add(shards)
		s.ending.closing = true
	}
	return reply
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

// keysPerStep is how many keys a walk by Step visits between two yields: about a millisecond. The network is
// not looked at while goroutines compute on every processor.
const keysPerStep = 4096

// Step implements commands.Stepper.
func (s *Session) Step(shard int, fn func()) resp.Value {
	visited, refusal := s.step(store.OneShard(shard), shard, fn)
	s.work.steps.Add(visited)
	return refusal
}

// step is Step without the yield. It returns how many keys the shard has.
func (s *Session) step(one store.ShardSet, shard int, fn func()) (keys int, refusal resp.Value) {
	e, c := s.engine, &s.work.ctx
	if busy := e.locks.lockUnlessBusy(s, one); busy != nil {
		return 0, resp.Error(busy.Reply)
	}
	defer e.locks.waits.changed()
	defer e.store.Unlock(one)
	if e.locks.torn.has(one) {
		s.ending.closing = true
		return 0, errCanceled
	}
	c.Use(c.DBIndex)
	defer func() { c.DB = nil }() // SWAPDB may swap it at any time
	fn()
	return e.store.ShardLen(shard), resp.None
}

// yield lets others use the processor during a walk through the keyspace.
func (s *Session) yield() {
	defer s.waitBegins().ends()
	if s.engine.options.Pause != nil {
		s.engine.options.Pause()
	} else {
		runtime.Gosched()
	}
}
