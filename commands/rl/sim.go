package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/zset"
)

var rlSimRows = []commands.Command{{
	Name: "rl.sim", Arity: -7, Flags: commands.ReadOnly, Keys: key("RO access"),
	Group: "rate-limit", Since: "0.1.0", Complexity: algoComplexity("O(M*log(N)) with M decisions", "M*"),
	Handler: rlSim, Keyless: simulatesTrace,
	Syntax:  "key limit window [limit window ...] " + algoSyntax + " FROM <KEY | TRACE> n",
	Summary: "Replays the last decisions about a key under another limit or algorithm.",
	Example: "user:42 200 1m FROM TRACE 100",
}}

// MaxSim is how many decisions RL.SIM replays at most, and how many a trace keeps.
const MaxSim = 10_000

// RL.SIM key limit window [limit window ...] [ALGO algorithm] FROM KEY | TRACE n
//
// FROM KEY replays the newest n entries of the key's log as calls, in the millisecond that each stands for
// and with its units as the cost. FROM TRACE replays the last n calls that RL.TRACE has recorded. The replay
// begins with an empty key and changes nothing. The reply is a map, see simReply.
func rlSim(c *commands.Ctx) resp.Value {
	source := c.Args[len(c.Args)-3:]
	if !commands.EqualFold(source[0], "from") {
		return errSimFrom
	}
	a := &term{}
	if refusal := a.parse(c.Args[2:len(c.Args)-3], simOptions); refusal.IsError() {
		return refusal
	}
	fromKey := commands.EqualFold(source[1], "key")
	if !fromKey && !commands.EqualFold(source[1], "trace") {
		return commands.SyntaxError(commands.Quote(source[1]) + " is not KEY or TRACE")
	}
	n, ok := store.ParseInt(source[2])
	switch {
	case !ok:
		return errRefundNumber
	case n < 1 || n > MaxSim:
		return errSimN
	}
	var t Trace
	if fromKey {
		var refusal resp.Value
		if t, refusal = heldCalls(c, n); refusal.IsError() {
			return refusal
		}
	} else if session(c).Tracer != nil {
		t, ok = session(c).Tracer.Trace(c.DBIndex, c.Args[1], int(n))
	} else {
		ok = false
	}
	if !ok {
		return errNoTrace
	}
	s := replay(a, t.Decisions)
	return simReply(c, &s, &t, fromKey)
}

// simulatesTrace reports whether a call of RL.SIM is about a trace, and no key.
func simulatesTrace(args [][]byte) bool { return commands.EqualFold(args[len(args)-2], "trace") }

// heldCalls returns the newest n entries of the call's key as a trace.
func heldCalls(c *commands.Ctx, n int64) (t Trace, refusal resp.Value) {
	var k logKey
	if refusal := findLog(c, &k, c.Args[1]); refusal.IsError() || k.node == nil {
		return t, refusal
	}
	first := max(k.set.Len()-int(n), 0)
	t.Lost = int64(first)
	t.Decisions = make([]TracedDecision, 0, k.set.Len()-first)
	k.set.Ascend(first, func(e zset.Entry) bool {
		t.Decisions = append(t.Decisions, TracedDecision{e.Number() / 1000, e.Units(), false, e.Units()})
		return true
	})
	return t, resp.None
}

// A simulation is what a replay has answered.
type simulation struct {
	admitted, denied int64
	units            int64
	longestWaitMs    int64 // of those denied
	never            int64 // denied whatever the wait
	changed          int64 // another number of units than the trace says
}

// replay answers the calls of a trace under the quotas and the algorithm of a, beginning
// with an empty key.
func replay(a *term, trace []TracedDecision) (s simulation) {
	k := newSimKey(a)
	for i := range trace {
		t := &trace[i]
		call := limiter.Call{Cost: t.Cost, AtMost: t.AtMost}
		d := k.decide(a, t.NowMs, call)
		switch {
		case d.Allowed > 0:
			s.admitted++
			s.units += d.Allowed
		case d.RetryAfterMs < 0:
			s.denied++
			s.never++
		default:
			s.denied++
			s.longestWaitMs = max(s.longestWaitMs, d.RetryAfterMs)
		}
		if d.Allowed != t.Granted {
			s.changed++
		}
	}
	return s
}

// A replayState is the state of a replay; see limiter.State.
type replayState interface {
	Decide(nowMs, expireAtMs int64, q limiter.Quota, call limiter.Call) limiter.Decision
	Apply(nowMs int64, d *limiter.Decision)
}

// A simKey is a key that exists in a replay only.
type simKey struct {
	state      replayState
	expireAtMs int64 // 0: none
}

func newSimKey(a *term) simKey {
	if a.algo.replay != nil {
		return simKey{state: a.algo.replay(a)}
	}
	a.algo.open(nil, a)
	return simKey{state: a.state.State}
}

// decide makes a call and applies it. As in the keyspace, a key is gone after its expiry.
func (k *simKey) decide(a *term, nowMs int64, call limiter.Call) limiter.Decision {
	if k.expireAtMs > 0 && nowMs > k.expireAtMs {
		*k = newSimKey(a)
	}
	d := k.state.Decide(nowMs, k.expireAtMs, a.quotas[0], call)
	if d.Units > 0 {
		k.state.Apply(nowMs, &d)
		if d.ExpireAtMs > 0 {
			k.expireAtMs = d.ExpireAtMs
		}
	}
	return d
}

// simReply returns the reply of RL.SIM: from, calls (replayed), lost (earlier ones that are
// not known or not asked for), from_empty (whether the key was empty when the trace began), the
// first and last instant, then what the replay answered: admitted, denied, units,
// longest_wait_ms (the largest retry_after of those denied) and never (denied because of
// their cost), then what was answered at the time: was_admitted, was_denied, and changed, the calls
// that got another number of units. Unknown values are null.
func simReply(c *commands.Ctx, s *simulation, t *Trace, fromKey bool) resp.Value {
	from, fromEmpty, first, last := resp.Bulk("trace"), resp.Int(0), resp.Null, resp.Null
	if t.FromEmpty {
		fromEmpty = resp.Int(1)
	}
	wasAdmitted := int64(0)
	for i := range t.Decisions {
		if t.Decisions[i].Granted > 0 {
			wasAdmitted++
		}
	}
	calls := int64(len(t.Decisions))
	wasDenied := resp.Int(calls - wasAdmitted)
	if calls > 0 {
		first, last = resp.Int(t.Decisions[0].NowMs), resp.Int(t.Decisions[calls-1].NowMs)
	}
	if fromKey {
		from, fromEmpty, wasDenied = resp.Bulk("key"), resp.Null, resp.Null
	}
	return resp.Map(append(c.Values(28),
		resp.Bulk("from"), from,
		resp.Bulk("calls"), resp.Int(calls),
		resp.Bulk("lost"), resp.Int(t.Lost),
		resp.Bulk("from_empty"), fromEmpty,
		resp.Bulk("first_ms"), first,
		resp.Bulk("last_ms"), last,
		resp.Bulk("admitted"), resp.Int(s.admitted),
		resp.Bulk("denied"), resp.Int(s.denied),
		resp.Bulk("units"), resp.Int(s.units),
		resp.Bulk("longest_wait_ms"), resp.Int(s.longestWaitMs),
		resp.Bulk("never"), resp.Int(s.never),
		resp.Bulk("was_admitted"), resp.Int(wasAdmitted),
		resp.Bulk("was_denied"), wasDenied,
		resp.Bulk("changed"), resp.Int(s.changed))...)
}
