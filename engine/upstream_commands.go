package engine

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// watch is WATCH.
func (f *forwarding) watch(cmd *commands.Command, args [][]byte) resp.Value {
	s := f.session
	if s.tx.open {
		return errWatchInMulti
	}
	c := f.newCall(cmd, args)
	c.Watch = &s.tx.upstream
	return f.reply(f.call(c))
}

// exec is EXEC. Its commands run upstream, as MULTI to EXEC, or all of them here.
func (f *forwarding) exec(cmd *commands.Command, args [][]byte) resp.Value {
	s := f.session
	if !s.tx.open {
		return errExecWithoutMulti
	}
	if s.tx.broken {
		s.tx.discard()
		return errExecAborted
	}
	forwarded, refusal := f.placeQueue()
	if refusal.IsError() {
		s.tx.discard()
		return refusal
	}
	if !forwarded && s.tx.upstream.Conn == nil {
		return f.keyspace.execute(cmd, args)
	}
	queued := s.tx.commandQueue
	s.tx.commandQueue = commandQueue{} // its buffers are the call's
	s.tx.end()
	queue := make([]call.Queued, len(queued.queued))
	if forwarded {
		for i, q := range queued.queued {
			queue[i] = call.Queued{Cmd: q.cmd, Args: q.args}
			s.work.ctx.CountNested(q.cmd, false, false)
		}
	} else {
		queue = queue[:0]
	}
	if s.tx.upstream.Conn != nil {
		c := f.newCall(cmd, args)
		c.Queue, c.Watch = queue, &s.tx.upstream
		f.call(c)
		index := lastSelected(queue)
		if index >= 0 && len(c.Reply) > 1 && c.Reply[0] == '*' && c.Reply[1] != '-' {
			s.work.ctx.DBIndex = index
		}
		if !forwarded && len(c.Reply) > 0 && c.Reply[0] == '*' && c.Reply[1] == '0' {
			s.tx.commandQueue, s.tx.open = queued, true // nothing has changed: the queue runs here
			return f.keyspace.execute(cmd, args)
		}
		return f.reply(c)
	}
	f.collect(cmd, args, queue)
	index := lastSelected(queue)
	if s.peer.Forwards && index < 0 {
		s.work.req.deferred = true
		return resp.None
	}
	c := f.calls[0]
	reply := f.runNow()
	if index >= 0 && c.Reply[0] == '*' {
		s.work.ctx.DBIndex = index
	}
	return reply
}

// lastSelected returns the database that the last SELECT of a queue selects, or -1 if there is none.
func lastSelected(queue []call.Queued) int {
	for i := range slices.Backward(queue) {
		if index := selectedBy(&queue[i]); index >= 0 {
			return index
		}
	}
	return -1
}

func (f *forwarding) refuseQueued(cmd *commands.Command, args [][]byte) resp.Value {
	if cmd.PlaceOf(args) == commands.PlaceRefused {
		return errNotForwarded(cmd)
	}
	c := f.newCall(cmd, args)
	c.Check = true
	return f.reply(f.call(c))
}

// inTransactions are commands of the engine that a transaction of the upstream may have.
var inTransactions = []string{"echo", "ping", "select", "unwatch"}

// placeQueue reports whether the queue of MULTI runs upstream. It returns an error reply if only a
// part of it could.
func (f *forwarding) placeQueue() (forwarded bool, refusal resp.Value) {
	s := f.session
	var here *commands.Command
	for i := range s.tx.queued {
		q := &s.tx.queued[i]
		if refusal := s.who.denyInExec(q.cmd, q.args); refusal.IsError() {
			text := withoutCode(refusal.Str())
			return false, resp.Error("EXECABORT Transaction discarded because of: " + text)
		}
		switch q.cmd.PlaceOf(q.args) {
		case commands.PlaceSlot, commands.PlaceAlone, commands.PlaceWaits:
			forwarded = true
		default:
			anywhere := q.cmd.Is(commands.ByPolicy) || slices.Contains(inTransactions, q.cmd.FullName())
			if here == nil && !anywhere {
				here = q.cmd
			}
		}
	}
	if forwarded && here != nil {
		return false, resp.Error("EXECABORT Transaction discarded because of: '" + here.FullName() +
			"' is not the upstream's and cannot run in one transaction with commands that are")
	}
	return forwarded, resp.None
}

// await runs a command that may block.
func (f *forwarding) await(cmd *commands.Command, args [][]byte) resp.Value {
	s := f.session
	c := f.newCall(cmd, cloneArgs(args))
	timedOut := resp.NullArray
	if len(cmd.Keys) > 1 { // one element is moved, as by BLMOVE
		timedOut = resp.Null
	}
	s.work.ctx.Cmd = cmd
	s.work.calls.open(s.engine.clock.MonotonicUs())
	reply := s.Await(0, func(over <-chan struct{}) resp.Value {
		s.engine.options.Upstream.Await(c, over)
		return f.replyOf(c)
	}, func() resp.Value { return timedOut })
	s.work.req.awaited.ended = func() { f.countBound(c) }
	s.block(s.work.ctx.Waiting, args)
	return reply
}

// followUpstream makes an engine that has an upstream use it.
func (e *Engine) followUpstream() {
	u := e.options.Upstream
	if u == nil {
		return
	}
	e.observers.traces.Elsewhere = true
	kinds := [pubsub.Kinds]call.Kind{
		pubsub.Channels: call.Channel, pubsub.Patterns: call.Pattern, pubsub.ShardChannels: call.ShardChannel,
	}
	e.broker.Topic = func(kind pubsub.Kind, name string, subscribed bool) {
		u.Subscribe(kinds[kind], name, subscribed)
	}
}

// Deliver sends the subscribers of a topic a message that was published upstream.
func (e *Engine) Deliver(kind call.Kind, topic, channel, payload string) {
	kinds := map[call.Kind]pubsub.Kind{
		call.Channel: pubsub.Channels, call.Pattern: pubsub.Patterns, call.ShardChannel: pubsub.ShardChannels,
	}
	e.broker.Deliver(kinds[kind], topic, channel, payload)
}

func (f *forwarding) execute(cmd *commands.Command, args [][]byte) resp.Value {
	s := f.session
	place := cmd.PlaceOf(args)
	if s.engine.observers.monitored.Load() {
		f.show(place, cmd, args)
	}
	if place == commands.PlaceSlot {
		f.collect(cmd, args, nil)
		if s.peer.Forwards && len(f.calls) < maxForwarded && f.bytes < maxForwardedBytes {
			s.work.req.deferred = true
			return resp.None
		}
		return f.runNow()
	}
	if len(f.calls) > 0 {
		f.sendBefore()
	}
	switch place {
	case commands.PlaceRefused:
		return errNotForwarded(cmd)
	case commands.PlaceAlone:
		return f.reply(f.call(f.newCall(cmd, args)))
	case commands.PlaceEither:
		if c := f.call(f.newCall(cmd, args)); c.Reply != nil {
			return f.reply(c)
		}
	case commands.PlaceWaits:
		return f.await(cmd, args)
	case commands.PlaceSubscribes:
		reply := f.keyspace.execute(cmd, args)
		f.call(f.newCall(cmd, args))
		return reply
	case commands.PlaceTransaction:
		if cmd.Is(commands.RunsQueue) {
			return f.exec(cmd, args)
		}
		if len(cmd.Keys) > 0 {
			return f.watch(cmd, args)
		}
	}
	return f.keyspace.execute(cmd, args)
}

// show shows the monitors a command that runs upstream.
func (f *forwarding) show(place commands.Place, cmd *commands.Command, args [][]byte) {
	s := f.session
	switch place {
	case commands.PlaceSlot, commands.PlaceAlone, commands.PlaceWaits:
	default:
		return
	}
	if cmd.Is(commands.SkipMonitor) {
		return
	}
	s.seen.beginTrace(true)
	s.seen.trace.Called(&s.work.ctx, args)
	s.seen.showTrace()
}
