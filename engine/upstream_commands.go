package engine

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// upstreamCommands are the commands of sessions that an upstream changes.
var upstreamCommands map[string]func(s *Session, cmd *commands.Command, args [][]byte) resp.Value

func init() { // not in the declaration, which their rows would refer to
	upstreamCommands = map[string]func(s *Session, cmd *commands.Command, args [][]byte) resp.Value{
		"discard": (*Session).unwatchUpstream,
		"exec":    (*Session).execUpstream,
		"reset":   (*Session).unwatchUpstream,
		"select":  (*Session).selectUpstream,
		"unwatch": (*Session).unwatchUpstream,
		"watch":   (*Session).watchUpstream,

		"asking":         (*Session).clusterUpstream,
		"readonly":       (*Session).clusterUpstream,
		"readwrite":      (*Session).clusterUpstream,
		"cluster|info":   (*Session).clusterUpstream,
		"cluster|myid":   (*Session).clusterUpstream,
		"cluster|nodes":  (*Session).clusterUpstream,
		"cluster|shards": (*Session).clusterUpstream,
		"cluster|slots":  (*Session).clusterUpstream,
	}
}

var errSelectInCluster = resp.Error("ERR SELECT is not allowed in cluster mode")

// selectUpstream is SELECT.
func (s *Session) selectUpstream(cmd *commands.Command, args [][]byte) resp.Value {
	index := s.ctx.DBIndex
	reply := s.execute(cmd, args)
	if s.ctx.DBIndex != 0 && s.engine.options.Upstream.Clustered() {
		s.ctx.DBIndex = index
		return errSelectInCluster
	}
	return reply
}

// clusterUpstream is CLUSTER, READONLY, READWRITE and ASKING.
func (s *Session) clusterUpstream(cmd *commands.Command, args [][]byte) resp.Value {
	reply := s.engine.options.Upstream.Cluster(cmd, s.peer.LocalAddr)
	if reply.Kind() == resp.KindNone {
		return s.execute(cmd, args)
	}
	return reply
}

// watchUpstream is WATCH.
func (s *Session) watchUpstream(cmd *commands.Command, args [][]byte) resp.Value {
	if s.tx.open {
		return errWatchInMulti
	}
	c := s.newCall(cmd, args)
	s.forward.watch = s.engine.options.Upstream.Watch(c, s.forward.watch)
	return s.forwarded(c)
}

// unwatchUpstream is a command that ends the watch: UNWATCH, DISCARD, RESET.
func (s *Session) unwatchUpstream(cmd *commands.Command, args [][]byte) resp.Value {
	s.stopForwarding()
	return s.execute(cmd, args)
}

// execUpstream is EXEC. Its commands run upstream, as MULTI to EXEC, or all of them here.
func (s *Session) execUpstream(cmd *commands.Command, args [][]byte) resp.Value {
	if !s.tx.open {
		return errExecWithoutMulti
	}
	if s.tx.broken {
		s.discard()
		s.stopForwarding()
		return errExecAborted
	}
	forwarded, refusal := s.queueUpstream()
	if refusal.IsError() {
		s.discard()
		s.stopForwarding()
		return refusal
	}
	if !forwarded && s.forward.watch == nil {
		return s.execute(cmd, args)
	}
	tx := s.tx
	s.tx = transaction{} // its buffers are the call's
	queue := make([]call.Queued, len(tx.queued))
	if forwarded {
		for i, q := range tx.queued {
			queue[i] = call.Queued{Cmd: q.cmd, Args: q.args}
			s.ctx.CountNested(q.cmd, false, false)
		}
	} else {
		queue = queue[:0]
	}
	if w := s.forward.watch; w != nil {
		s.forward.watch = nil
		c := s.newCall(cmd, args)
		c.Queue = queue
		w.Run(c)
		index := lastSelected(queue)
		if index >= 0 && len(c.Reply) > 1 && c.Reply[0] == '*' && c.Reply[1] != '-' {
			s.ctx.DBIndex = index
		}
		if !forwarded && len(c.Reply) > 0 && c.Reply[0] == '*' && c.Reply[1] == '0' {
			s.tx = tx // nothing has changed: the queue runs here
			return s.execute(cmd, args)
		}
		return s.forwarded(c)
	}
	s.collectCall(cmd, args, queue)
	index := lastSelected(queue)
	if s.peer.Forwards && index < 0 {
		s.req.deferred = true
		return resp.None
	}
	c := s.forward.calls[0]
	reply := s.forwardNow()
	if index >= 0 && c.Reply[0] == '*' {
		s.ctx.DBIndex = index
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

// selectedBy returns the database that a command selects, or -1 if it selects none.
func selectedBy(q *call.Queued) int {
	if q.Cmd.Name != "select" {
		return -1
	}
	if n, ok := store.ParseInt(q.Args[1]); ok && n >= 0 && n < store.Databases {
		return int(n)
	}
	return -1
}

// refuseQueued returns the error reply for a command of MULTI that the upstream cannot run, or
// resp.None.
func (s *Session) refuseQueued(cmd *commands.Command, args [][]byte) resp.Value {
	if s.place(cmd, args) == call.Refused {
		return errNotForwarded(cmd)
	}
	if !s.engine.options.Upstream.Clustered() {
		return resp.None
	}
	var room [8][]byte
	slot := -1
	for _, key := range cmd.AppendKeys(room[:0], args) {
		n := commands.KeySlot(key)
		if slot >= 0 && n != slot {
			return errCrossSlot
		}
		slot = n
	}
	return resp.None
}

var errCrossSlot = resp.Error("CROSSSLOT Keys in request don't hash to the same slot")

// inTransactions are commands of the engine that a transaction of the upstream may have.
var inTransactions = []string{"echo", "ping", "select", "unwatch"}

// queueUpstream reports whether the queue of MULTI runs upstream. It returns an error reply if only a
// part of it could.
func (s *Session) queueUpstream() (forwarded bool, refusal resp.Value) {
	var here *commands.Command
	for i := range s.tx.queued {
		q := &s.tx.queued[i]
		if refusal := s.denyInExec(q.cmd, q.args); refusal.IsError() {
			text := withoutCode(refusal.Str())
			return false, resp.Error("EXECABORT Transaction discarded because of: " + text)
		}
		switch s.place(q.cmd, q.args) {
		case call.Slot, call.Alone, call.Waits:
			forwarded = true
		default:
			if here == nil && !slices.Contains(inTransactions, q.cmd.FullName()) {
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

// awaitUpstream runs a command that may block.
func (s *Session) awaitUpstream(cmd *commands.Command, args [][]byte) resp.Value {
	copied := make([][]byte, len(args))
	for i, a := range args {
		copied[i] = slices.Clone(a)
	}
	c := s.newCall(cmd, copied)
	timedOut := resp.NullArray
	if len(cmd.Keys) > 1 { // one element is moved, as by BLMOVE
		timedOut = resp.Null
	}
	s.ctx.Cmd = cmd
	s.last.startUs = s.engine.clock.MonotonicUs()
	reply := s.Await(0, func(over <-chan struct{}) resp.Value {
		s.engine.options.Upstream.Await(c, over)
		return s.forwardedReply(c)
	}, func() resp.Value { return timedOut })
	s.req.awaited.forwarded = c
	s.block(s.ctx.Waiting, args)
	return reply
}

// followUpstream makes an engine that has an upstream use it.
func (e *Engine) followUpstream() {
	u := e.options.Upstream
	if u == nil {
		return
	}
	e.places = e.forwardPlaces()
	e.traces.Elsewhere = true
	kinds := [pubsub.Kinds]call.Kind{
		pubsub.Channels: call.Channel, pubsub.Patterns: call.Pattern, pubsub.ShardChannels: call.ShardChannel,
	}
	e.broker.Topic = func(kind pubsub.Kind, name string, subscribed bool) {
		if subscribed {
			u.Subscribed(kinds[kind], name)
		} else {
			u.Unsubscribed(kinds[kind], name)
		}
	}
}

// Deliver sends the subscribers of a topic a message that was published upstream.
func (e *Engine) Deliver(kind call.Kind, topic, channel, payload string) {
	kinds := map[call.Kind]pubsub.Kind{
		call.Channel: pubsub.Channels, call.Pattern: pubsub.Patterns, call.ShardChannel: pubsub.ShardChannels,
	}
	e.broker.Deliver(kinds[kind], topic, channel, payload)
}
