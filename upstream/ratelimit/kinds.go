package ratelimit

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// A kind is a rate limit command: how its function is called, and what it answers.
type kind struct {
	parse     func(l *rl.LimitCall, c *commands.Ctx) (refusal resp.Value)
	zeroPeeks bool // COST 0 is a peek at one unit
	alone     bool // the reply is a decision without the index of its key, unless the call has FULL
	throttles bool // the reply is that of CL.THROTTLE
	prepare   func(k *Call) (refusal resp.Value)
	// reply makes the command's reply of what the function answered. It reports false if
	// the function cannot have answered that.
	reply func(c *commands.Ctx, k *Call, n []item) (resp.Value, bool)
}

// kinds has the kinds by the names of commands.
var kinds = map[string]*kind{
	"rl.allow": {
		parse: (*rl.LimitCall).ParseAllow, zeroPeeks: true, prepare: (*Call).allow, reply: allowReply,
	},
	"cl.throttle": &throttle,
	"rl.throttle": &throttle,
	"rl.mallow":   {parse: (*rl.LimitCall).ParseMAllow, prepare: (*Call).mallow, reply: jointReply},
	"rl.check": {
		parse: (*rl.LimitCall).ParseCheck, prepare: (*Call).mallow, reply: jointReply, alone: true,
	},
	"rl.reserve": {
		parse: (*rl.LimitCall).ParseReserve, prepare: (*Call).reserve, reply: jointReply, alone: true,
	},
	"rl.mreserve": {parse: (*rl.LimitCall).ParseMReserve, prepare: (*Call).reserve, reply: jointReply},
	"rl.reset":    plain("reset", parseNothing, nil, countReply),
	"rl.refund":   plain("refund", (*rl.LimitCall).ParseRefund, refundArgs, countReply),
	"rl.info":     plain("info", parseNothing, nil, infoReply),
	"rl.adopt": plain("adopt", (*rl.LimitCall).ParseAdopt, func(k *Call) [][]byte {
		return [][]byte{[]byte(k.limit.Unit)}
	}, countReply),
	"rl.settle":  plain("settle", (*rl.LimitCall).ParseSettle, settleArgs, settled(countedAndExcess, false)),
	"rl.msettle": plain("settle", (*rl.LimitCall).ParseMSettle, settleArgs, settled(countedAndExcess, true)),
	"rl.cancel":  plain("settle", (*rl.LimitCall).ParseCancel, settleArgs, settled(released, false)),
	"rl.mcancel": plain("settle", (*rl.LimitCall).ParseMCancel, settleArgs, settled(released, true)),
	"rl.acquire": plain("acquire", (*rl.LimitCall).ParseAcquire, func(k *Call) [][]byte {
		return [][]byte{count(k.limit.Count), number(k.limit.DurationMs), k.limit.ID}
	}, acquireReply),
	"rl.renew": plain("renew", (*rl.LimitCall).ParseRenew, func(k *Call) [][]byte {
		return [][]byte{number(k.limit.DurationMs), k.limit.ID}
	}, countReply),
	"rl.release": plain("release", (*rl.LimitCall).ParseRelease, func(k *Call) [][]byte {
		return [][]byte{k.limit.ID}
	}, countReply),
	"increx": {
		parse:   func(l *rl.LimitCall, c *commands.Ctx) resp.Value { return l.Increment.Parse(c) },
		prepare: (*Call).increx, reply: increxReply,
	},
}

var throttle = kind{
	parse: (*rl.LimitCall).ParseThrottle, prepare: (*Call).allow, reply: allowReply, throttles: true,
}

func parseNothing(*rl.LimitCall, *commands.Ctx) resp.Value { return resp.None }

type replyFunc = func(c *commands.Ctx, k *Call, n []item) (resp.Value, bool)

// plain returns the kind of a command whose function has these arguments.
func plain(function string, parse func(l *rl.LimitCall, c *commands.Ctx) resp.Value,
	args func(k *Call) [][]byte, reply replyFunc,
) *kind {
	return &kind{
		parse: parse,
		prepare: func(k *Call) resp.Value {
			k.function = function
			if args != nil {
				k.args = args(k)
			}
			return resp.None
		},
		reply: reply,
	}
}

func refundArgs(k *Call) [][]byte { return [][]byte{count(k.limit.Count)} }

func settleArgs(k *Call) [][]byte {
	args := [][]byte{k.limit.ID}
	for _, n := range k.limit.Actuals {
		args = append(args, number(n))
	}
	return args
}

// The number of integers of a decision, see states.lua, and of what a call that made a hold has answered.
const (
	decisionLen = 8
	firstLen    = 5
)

// decisionOf returns the decision about a term in a reply.
func decisionOf(t *rl.LimitTerm, n []item) (d limiter.Decision) {
	d = limiter.Decision{
		Allowed: n[0].n, Limit: n[1].n, Remaining: n[2].n, RetryAfterMs: n[3].n, ResetAfterMs: n[4].n,
		NextAfterMs: n[5].n, Used: n[6].n, WindowMs: n[7].n,
	}
	if d.WindowMs == 0 { // the function does not count with them
		d.Limit, d.WindowMs = t.Quotas[0].Limit, t.Quotas[0].WindowMs
	}
	return d
}

// allowReply returns the reply to RL.ALLOW or CL.THROTTLE.
func allowReply(c *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
	if len(n) != decisionLen || !known(n) {
		return resp.None, false
	}
	t := &k.limit.Terms[0]
	d := decisionOf(t, n)
	k.decide(&d, 0)
	if k.limit.Shadow {
		rl.AdmitShadow(&d, k.limit.Cost)
	}
	switch {
	case k.kind.throttles:
		answer := d.Throttle(t.Quotas[0].Capacity(t.Param))
		return rl.ThrottleReply(c, &answer), true
	case k.limit.Full:
		return rl.FullReply(c, &d, k.limit.Algorithm, k.limit.Shadow, 0), true
	}
	return rl.DecisionReply(c, &d, 0), true
}

// jointReply returns the reply of a call with a term for each key.
func jointReply(c *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
	shown := 1
	if k.limit.Full {
		shown = len(k.limit.Terms)
	}
	last := len(n) - 1
	if last < 0 || !known(n) || n[last].n < 1 || n[last].n > int64(len(k.limit.Terms)) {
		return resp.None, false
	}
	binding, first := int(n[last].n)-1, 0 // the term of the first decision
	if shown == 1 {
		first = binding
	}
	decisions := make([]limiter.Decision, shown)
	switch last {
	case decisionLen * shown:
		for i := range decisions {
			decisions[i] = decisionOf(&k.limit.Terms[first+i], n[decisionLen*i:])
		}
		k.decide(&decisions[binding-first], binding)
		for i := range decisions {
			if k.limit.Shadow {
				rl.AdmitShadow(&decisions[i], k.limit.Terms[first+i].Cost)
			}
		}
	case firstLen * shown:
		for i := range decisions {
			five := n[firstLen*i:]
			decisions[i] = limiter.Decision{
				Allowed: five[0].n, Limit: five[1].n, Remaining: five[2].n, RetryAfterMs: five[3].n,
				ResetAfterMs: five[4].n,
			}
		}
	default:
		return resp.None, false
	}
	if k.kind.alone && !k.limit.Full {
		return rl.DecisionReply(c, &decisions[0], 0), true
	}
	return rl.JointReply(c, binding, decisions, k.limit.Full), true
}

func countReply(_ *commands.Ctx, _ *Call, n []item) (resp.Value, bool) {
	if len(n) != 1 || !known(n) {
		return resp.None, false
	}
	return n[0].value(), true
}

// A settlement is what a term of a hold counts, exceeds and has released.
type settlement = []item

// settled returns the reply of a call about a hold that answers so of each key, or of its only one: 0 if
// there is no hold.
func settled(of func(s settlement) resp.Value, several bool) replyFunc {
	return func(_ *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
		if len(n) == 0 {
			return resp.Int(0), true
		}
		keys := len(k.limit.Actuals)
		if len(n) != 1+3*keys || !known(n) {
			return resp.None, false
		}
		if !several {
			return of(n[1:]), true
		}
		reply := make([]resp.Value, keys)
		for i := range reply {
			reply[i] = of(n[1+3*i:])
		}
		return resp.Array(reply...), true
	}
}

func countedAndExcess(s settlement) resp.Value { return resp.Array(s[0].value(), s[1].value()) }

func released(s settlement) resp.Value { return s[2].value() }

func acquireReply(c *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
	if len(n) != 3 || !known(n) {
		return resp.None, false
	}
	return resp.Array(append(c.Values(4), n[0].value(), n[1].value(), resp.Int(k.limit.Count),
		n[2].value())...), true
}

func increxReply(c *commands.Ctx, _ *Call, n []item) (resp.Value, bool) {
	if len(n) != 3 || !known(n) {
		return resp.None, false
	}
	return values(c, n[1:]), true
}

func infoReply(c *commands.Ctx, _ *Call, n []item) (resp.Value, bool) {
	if len(n) == 0 {
		return resp.Map(), true
	}
	names := rl.LimitAlgorithms()
	if len(n) < 6 || len(n) > 8 || n[0].n < 1 || n[0].n > int64(len(names)) {
		return resp.None, false
	}
	s := rl.LimitState{
		Algorithm: names[n[0].n-1], Bytes: n[1].value(), TTLMs: n[2].n,
		Used: n[3].value(), Oldest: n[4].value(), Newest: n[5].value(),
	}
	for i, more := range n[6:] {
		s.More[i] = more.n
	}
	return rl.InfoReply(c, &s), true
}
