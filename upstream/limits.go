package upstream

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// limits are the decisions about rate limits: calls of functions of a library that is loaded on
// every master, or of a script where there is no FUNCTION.
type limits struct {
	upstream *Upstream
	since    atomic.Int64 // Unix time in microseconds since when decisions are degraded; 0: they are not
	last     atomic.Int64 // when the last one was
}

func (l *limits) init(u *Upstream) { l.upstream = u }

// A decision is one call of a rate limit command.
type decision struct {
	call *ratelimit.Call
	ctx  commands.Ctx
	made [1]call.Decided
}

// note adds what was decided to what the engine counts. at is the index in the queue of a transaction.
func (d *decision) note(c *call.Call, at int) {
	m := d.call.Made()
	if m == nil {
		return
	}
	d.made[0] = call.Decided{LimitDecision: m, At: at}
	if c.Decided == nil {
		c.Decided = d.made[:1:1]
		return
	}
	c.Decided = append(c.Decided, d.made[0])
}

// A queuedDecision is one of a transaction.
type queuedDecision struct {
	at       int
	decision *decision
	refusal  []byte // its reply, if decision is nil: an error, or what needs no function
}

// args returns the words for a node: a call of the function or of the script.
func (d *decision) args(n *node) [][]byte {
	if n != nil && n.functions.scripts.Load() {
		return d.call.AppendEval(nil)
	}
	return d.call.AppendFCall(nil)
}

// parse returns a command as a call of a function, or a reply that needs none: an error, or that to a call
// of RL.CHECK without a limit.
func (l *limits) parse(c *call.Call, cmd *commands.Command, args [][]byte) (*decision, []byte) {
	d := &decision{}
	d.ctx.Cmd, d.ctx.Args, d.ctx.Settings, d.ctx.NowMs = cmd, args, c.Settings, c.NowMs
	if cmd.PlaceOf(args) == commands.PlaceHere {
		return nil, encode(cmd.Handler(&d.ctx), c.Proto)
	}
	parsed, refusal := ratelimit.Parse(&d.ctx)
	if refusal.IsError() {
		return nil, encode(refusal, c.Proto)
	}
	parsed.Bound(l.upstream.options.MaxUnits)
	d.call = parsed
	return d, nil
}

// moves makes a decision one of the node's instant, once, if its reply says that the clock there is in
// another slice of a calendar. It reports whether to send the unit again.
func (x *unit) moves(reply []byte) bool {
	if x.limit == nil || x.tries.moved {
		return false
	}
	nowMs, outside := x.limit.call.Outside(reply)
	if outside {
		x.limit.call.MoveTo(nowMs)
		x.tries.moved = true
	}
	return outside
}

// slot returns the slot of a decision's keys, or an error reply that says how to make it one.
func (d *decision) slot() (int, []byte) {
	slot, ok := slotOf(d.call.Keys())
	if ok {
		return slot, nil
	}
	first := d.call.Keys()[0]
	for _, key := range d.call.Keys()[1:] {
		if commands.KeySlot(key) != commands.KeySlot(first) {
			return slot, errorReply(fmt.Sprintf("CROSSSLOT keys '%s' and '%s' are in different slots: "+
				"give them "+
				"the same hash tag, as in {tag}%s and {tag}%s", first, key, first, key))
		}
	}
	return slot, nil
}

// unit returns the unit of a call, or an error reply.
func (l *limits) unit(c *call.Call, clustered bool) (*unit, []byte) {
	d, refusal := l.parse(c, c.Cmd, c.Args)
	if refusal != nil {
		return nil, refusal
	}
	x := &unit{call: c, slot: anySlot, limit: d, write: !d.call.ReadOnly()}
	if clustered {
		if x.slot, refusal = d.slot(); refusal != nil {
			return nil, refusal
		}
	}
	return x, nil
}

// reply returns the command's reply for that of the function.
func (l *limits) reply(x *unit) []byte {
	reply := x.limit.call.Reply(&x.limit.ctx, x.node.explainRefusal(x.reply))
	x.limit.note(x.call, 0)
	return encode(reply, x.call.Proto)
}

// replies sets the reply of a transaction, with those of commands instead of functions.
func (l *limits) replies(x *unit) {
	elems := elements(x.reply)
	if len(elems) != len(x.queue) {
		x.call.Reply, x.call.Long = x.reply, x.long
		return
	}
	for _, q := range x.limits {
		if q.decision == nil {
			elems[q.at] = q.refusal
			continue
		}
		if ratelimit.NeedsLoad(elems[q.at]) {
			x.node.functions.loaded.Store(false)
		}
		elem := x.node.explainRefusal(elems[q.at])
		elems[q.at] = encode(q.decision.call.Reply(&q.decision.ctx, elem), x.call.Proto)
		q.decision.note(x.call, q.at)
	}
	setArray(x.call, elems)
}

// degrade marks a call that has failed as one that the engine answers, if the key's policy says so.
func (l *limits) degrade(x *unit) {
	x.call.Policy = l.upstream.options.Failure.policy(x.limit.call.Keys()[0])
	if x.call.Policy.Mode == call.Closed || !call.Degradable(x.call.Cmd, x.call.Args) {
		return
	}
	x.call.Degraded = true
	l.upstream.counts.degraded.Add(1)
	now := time.Now()
	l.last.Store(now.UnixMicro())
	if l.since.CompareAndSwap(0, now.UnixMicro()) {
		reason := ""
		if x.err != nil {
			reason = x.err.Error()
		} else {
			reason = errorText(x.reply)
		}
		l.upstream.options.Log.Warn("upstream: decisions are degraded",
			"since", now.UTC().Format(time.RFC3339Nano), "error", reason)
	}
}

// look ends the time of degraded decisions if there was none for a while. It is called every
// refreshEvery.
func (l *limits) look(now time.Time) {
	since, last := l.since.Load(), time.UnixMicro(l.last.Load())
	if since == 0 || now.Sub(last) < refreshEvery || !l.since.CompareAndSwap(since, 0) {
		return
	}
	start := time.UnixMicro(since)
	l.upstream.options.Log.Info("upstream: decisions are no longer degraded", "since",
		start.UTC().Format(time.RFC3339Nano),
		"until", last.UTC().Format(time.RFC3339Nano), "degraded", l.upstream.counts.degraded.Load())
}
