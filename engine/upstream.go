package engine

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/upstream/call"
)

// Bounds of the calls that a session collects before it sends them.
const (
	maxForwarded      = 1024
	maxForwardedBytes = 1 << 20
)

// forwarding runs commands upstream, those that are not the upstream's as keyspace does.
type forwarding struct {
	keyspace
	queue  commandQueue // the arguments of calls, which the connection's buffer does not keep
	calls  []*call.Call // to be run by ForwardBatch
	muted  []bool       // by call: CLIENT REPLY drops the reply
	bytes  int
	bound  *call.Bound  // of the calls; nil: none
	before *resp.Blocks // to send before inbox.waiting, if there are long replies; nil: none
}

// newCall returns a call that is run at once.
func (f *forwarding) newCall(cmd *commands.Command, args [][]byte) *call.Call {
	s := f.session
	return &call.Call{
		Cmd: cmd, Args: args, DB: s.work.ctx.DBIndex, Proto: s.answers.proto,
		Settings: s.engine.cfg.settings.Load(), NowMs: s.engine.clock.NowUs() / 1000,
		Bound: call.NewBound(s.work.ctx.Out.OutputBounds),
		Addr:  s.peer.LocalAddr,
	}
}

// call runs a call and returns it.
func (f *forwarding) call(c *call.Call) *call.Call {
	f.session.EndCall()
	f.session.leave()
	f.session.engine.options.Upstream.Run([]*call.Call{c})
	return c
}

// collect adds a call to those that ForwardBatch runs.
func (f *forwarding) collect(cmd *commands.Command, args [][]byte, queue []call.Queued) {
	s := f.session
	f.queue.add(cmd, args)
	kept := f.queue.queued[len(f.queue.queued)-1]
	for _, a := range args {
		f.bytes += len(a)
	}
	if len(f.calls) == 0 {
		f.bound = call.NewBound(s.work.ctx.Out.OutputBounds)
	}
	f.calls = append(f.calls, &call.Call{
		Cmd: cmd, Args: kept.args, Queue: queue, DB: s.work.ctx.DBIndex, Proto: s.answers.proto,
		Settings: s.engine.cfg.settings.Load(), NowMs: s.engine.clock.NowUs() / 1000, Bound: f.bound,
	})
	f.muted = append(f.muted, s.answers.quiet())
}

// ForwardBatch runs the calls that Do has collected for the upstream and returns their replies. The
// connection calls it before it sends the replies of a batch.
func (s *Session) ForwardBatch() resp.Value { return s.exec.flush() }

func (f *forwarding) flush() resp.Value {
	if len(f.calls) == 0 {
		return resp.None
	}
	s := f.session
	var out forwardedReplies
	f.appendReplies(&out)
	if out.long != nil {
		return s.answers.bound(resp.Streamed(out.long))
	}
	return s.answers.bound(resp.Encoded(out.short))
}

// runNow runs the collected calls. It returns the reply of the last, and those before it precede it.
func (f *forwarding) runNow() resp.Value {
	s := f.session
	if len(f.calls) > 1 {
		s.work.req.deferred = true // CLIENT REPLY was applied to each
		f.sendBefore()
		return resp.None
	}
	f.runCalls()
	reply := f.reply(f.calls[0])
	f.end()
	return reply
}

// sendBefore runs the collected calls, so that their replies precede that of the command under way.
func (f *forwarding) sendBefore() {
	s := f.session
	out := forwardedReplies{s.inbox.waiting, f.before}
	if out.long != nil {
		out.toBlocks()
	}
	f.appendReplies(&out)
	s.inbox.waiting, f.before = out.short, out.long
}

func (f *forwarding) finish(reply resp.Value) resp.Value {
	if r := &f.session.work.req; !r.postponed && !r.deferred && len(f.calls) > 0 {
		f.sendBefore() // a refusal follows their replies
	}
	reply = f.keyspace.finish(reply)
	if f.before != nil {
		return f.behind(reply)
	}
	return reply
}

// behind returns a reply behind the long ones of sendBefore.
func (f *forwarding) behind(reply resp.Value) resp.Value {
	s := f.session
	before := f.before
	f.before = nil
	if s.work.ctx.Out.Exceeded() {
		before.Free()
		return resp.None
	}
	if reply.Kind() != resp.KindNone {
		before.Append(&reply, s.answers.proto)
	}
	return resp.Streamed(before)
}

// forwardedReplies are the encoded replies of a batch.
type forwardedReplies struct {
	short []byte
	long  *resp.Blocks // precedes short; nil: there was no long reply
}

// add appends a reply.
func (r *forwardedReplies) add(v *resp.Value, proto int) {
	if r.long == nil && len(r.short) < resp.BlockSize && v.Kind() != resp.KindStream {
		r.short = resp.Append(r.short, v, proto)
		return
	}
	r.toBlocks()
	r.long.Append(v, proto)
}

// toBlocks moves short behind long.
func (r *forwardedReplies) toBlocks() {
	if r.long == nil {
		r.long = &resp.Blocks{}
	}
	_, _ = r.long.Write(r.short)
	r.short = nil
}

// appendReplies runs the collected calls and appends their replies, unless these have passed a bound.
func (f *forwarding) appendReplies(out *forwardedReplies) {
	f.runCalls()
	for i, c := range f.calls {
		v := f.reply(c)
		if v.IsError() {
			f.countError(c)
		}
		if !f.muted[i] && !c.Bound.Passed() {
			out.add(&v, c.Proto)
		}
	}
	f.end()
}

// countError counts the failure of a call that dispatch has counted as one that succeeded.
func (f *forwarding) countError(c *call.Call) {
	s := f.session
	s.work.calls.run.Flush(s.id, &s.engine.stats)
	s.engine.stats.Add(s.id, &commands.CallCount{Cmd: c.Cmd, Failed: 1})
}

// runCalls runs the collected calls.
func (f *forwarding) runCalls() {
	s := f.session
	startUs := s.engine.clock.MonotonicUs()
	s.work.calls.open(startUs)
	s.leave()
	s.engine.options.Upstream.Run(f.calls)
	us := s.engine.clock.MonotonicUs() - startUs
	for _, c := range f.calls {
		if s.work.calls.isTimed(c.Cmd) {
			s.engine.stats.Latency(c.Cmd).Add(us)
		}
	}
	if us >= s.engine.slow.attentionUs.Load() {
		s.work.calls.slow(f.calls[0].Cmd, f.calls[0].Args, us)
	}
}

// end forgets the collected calls.
func (f *forwarding) end() {
	clear(f.calls)
	f.calls, f.muted, f.bytes, f.bound = f.calls[:0], f.muted[:0], 0, nil
	f.queue.reset()
}

// reply returns the reply of a call that was run, counts its decisions, and notes whether it has passed
// the session's bounds.
func (f *forwarding) reply(c *call.Call) resp.Value {
	reply := f.replyOf(c)
	f.countBound(c)
	return reply
}

// countBound notes whether a call has passed the session's bounds.
func (f *forwarding) countBound(c *call.Call) {
	if c.Bound.Passed() {
		f.session.work.ctx.Out.Exceed(c.Bound.Bytes())
	}
}

// replyOf returns the reply of a call that was run, and counts its decisions. It may be called beside
// the session unless there are any.
func (f *forwarding) replyOf(c *call.Call) resp.Value {
	s := f.session
	if c.Decided != nil {
		f.countDecided(c)
	}
	switch {
	case len(c.Reply) == 0:
		return resp.None
	case c.Degraded:
		return f.answerDegraded(c)
	case c.Bound.Passed():
		return resp.Null // which is not sent
	}
	if c.Reply[0] == '-' {
		return resp.Error(string(c.Reply[1:max(1, len(c.Reply)-2)]))
	}
	if c.Long != nil && s.peer.Streams {
		return resp.Streamed(c.Long)
	}
	if !s.peer.Streams { // it wants the value
		if c.Long != nil {
			c.Reply, c.Long = c.Long.Bytes(), nil
		}
		if v, _, err := resp.Decode(c.Reply); err == nil {
			return v
		}
	}
	return resp.Encoded(c.Reply)
}

// countDecided counts the decisions of a call as the handlers count theirs.
func (f *forwarding) countDecided(c *call.Call) {
	s := f.session
	x := &s.work.ctx
	x.NowUs = s.engine.clock.NowUs()
	x.NowMs = x.NowUs / 1000
	if settings := s.engine.cfg.settings.Load(); settings != x.Settings {
		s.work.calls.adopt(settings)
	}
	s.seen.setTracer(s.engine.observers.traces.On())
	selected, db := x.DBIndex, c.DB
	at := 0
	for i := range c.Decided {
		d := &c.Decided[i]
		for ; at < d.At; at++ {
			if index := selectedBy(&c.Queue[at]); index >= 0 {
				db = index
			}
		}
		x.DBIndex = db
		rl.CountDecision(x, d.LimitDecision)
	}
	x.DBIndex = selected
}

// errNotForwarded refuses a command that an upstream makes meaningless.
func errNotForwarded(cmd *commands.Command) resp.Value {
	return resp.Error("ERR '" + cmd.FullName() + "' is not available with an upstream")
}

// answerDegraded answers a decision by the keys of this engine, which are used for nothing else: under
// Open as if the key did not exist, under Local by a share of each limit. FULL says so.
func (f *forwarding) answerDegraded(c *call.Call) resp.Value {
	s := f.session
	args := append([][]byte(nil), c.Args...)
	mode := "open"
	if c.Policy.Mode == call.Local {
		mode = "local"
		call.Divide(c.Cmd, args, c.Policy.Share)
	}
	s.work.ctx.Reset()
	s.work.calls.measured = true
	defer func() { s.work.calls.measured = false }()
	reply := f.keyspace.execute(c.Cmd, args)
	if reply.Kind() == resp.KindMap {
		reply = resp.Map(append(slices.Clone(reply.Elems()), resp.Bulk("degraded"), resp.Bulk(mode))...)
	}
	if c.Policy.Mode == call.Open {
		reply = resp.Encode(reply, c.Proto)
		f.forget(c)
	}
	return reply
}

// forget removes the keys of a decision.
func (f *forwarding) forget(c *call.Call) {
	s := f.session
	del, _ := s.engine.table.Resolve([][]byte{[]byte("del"), nil})
	f.keyspace.execute(del, append([][]byte{[]byte("del")}, c.Cmd.AppendKeys(nil, c.Args)...))
}

// selectedBy returns the database that a command selects, or -1 if it selects none.
func selectedBy(q *call.Queued) int {
	if !q.Cmd.Selects {
		return -1
	}
	if n, ok := store.ParseInt(q.Args[1]); ok && n >= 0 && n < store.Databases {
		return int(n)
	}
	return -1
}
