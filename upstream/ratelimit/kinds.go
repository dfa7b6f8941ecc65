package ratelimit

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// A kind is a rate limit command: how its function is called, and what it answers.
type kind struct {
	zeroPeeks bool // COST 0 is a peek at one unit
	prepare   func(k *Call) (refusal resp.Value)
	// reply makes the command's reply of what the function answered. It reports false if
	// the function cannot have answered that.
	reply func(c *commands.Ctx, k *Call, n []item) (resp.Value, bool)
}

var kinds map[string]*kind

func init() {
	kinds = map[string]*kind{
		"rl.allow":    {zeroPeeks: true, prepare: (*Call).allow, reply: allowReply},
		"cl.throttle": {prepare: (*Call).allow, reply: allowReply},
		"rl.mallow": {
			prepare: func(k *Call) resp.Value {
				k.mallow()
				return resp.None
			},
			reply: mallowReply,
		},
		"rl.reset":  plain("reset", nil, countReply),
		"rl.refund": plain("refund", refundArgs, countReply),
		"rl.info":   plain("info", nil, infoReply),
		"rl.adopt": plain("adopt", func(k *Call) [][]byte {
			return [][]byte{[]byte(k.limit.Unit)}
		}, countReply),
		"rl.reserve": plain("reserve", reserveArgs, reserveReply),
		"rl.settle":  plain("settle", settleArgs, settleReply),
		"rl.cancel":  plain("settle", settleArgs, cancelReply),
		"rl.acquire": plain("acquire", func(k *Call) [][]byte {
			return [][]byte{count(k.limit.Count), number(k.limit.DurationMs), k.limit.ID}
		}, acquireReply),
		"rl.renew": plain("renew", func(k *Call) [][]byte {
			return [][]byte{number(k.limit.DurationMs), k.limit.ID}
		}, countReply),
		"rl.release": plain("release", func(k *Call) [][]byte { return [][]byte{k.limit.ID} }, countReply),
		"increx":     {prepare: (*Call).increx, reply: increxReply},
	}
}

type replyFunc = func(c *commands.Ctx, k *Call, n []item) (resp.Value, bool)

// plain returns the kind of a command whose function has these arguments.
func plain(function string, args func(k *Call) [][]byte, reply replyFunc) *kind {
	return &kind{
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

func reserveArgs(k *Call) [][]byte {
	q := k.limit.Quotas[0]
	return [][]byte{
		number(q.Limit), number(q.WindowMs), count(k.limit.Cost), number(k.limit.DurationMs),
		number(int64(len(k.limit.ID))),
	}
}

func settleArgs(k *Call) [][]byte {
	return [][]byte{count(k.limit.Count), number(int64(len(k.limit.ID)))}
}

// decisionLen is the number of integers of a decision; see log_decide in commands/rl/log.lua.
const decisionLen = 8

// decisionOf returns the decision in a reply.
func (k *Call) decisionOf(n []item) (d limiter.Decision) {
	d = limiter.Decision{
		Allowed: n[0].n, Limit: n[1].n, Remaining: n[2].n, RetryAfterMs: n[3].n, ResetAfterMs: n[4].n,
		NextAfterMs: n[5].n, Used: n[6].n, WindowMs: n[7].n,
	}
	if d.WindowMs == 0 { // of GCRA
		d.Limit, d.WindowMs = k.limit.Quotas[0].Limit, k.limit.Quotas[0].WindowMs
	}
	return d
}

// allowReply returns the reply to RL.ALLOW or CL.THROTTLE.
func allowReply(c *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
	if len(n) != decisionLen || !known(n) {
		return resp.None, false
	}
	d := k.decisionOf(n)
	k.decide(&d, 0)
	switch {
	case k.kind == kinds["cl.throttle"]:
		t := d.Throttle(k.limit.Quotas[0].Capacity(k.limit.Param))
		return rl.ThrottleReply(c, &t), true
	case k.limit.Full:
		return rl.FullReply(c, &d, k.limit.Algorithm), true
	}
	return rl.DecisionReply(c, &d), true
}

func mallowReply(c *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
	if len(n) != decisionLen+1 || !known(n) || n[decisionLen].n < 1 ||
		n[decisionLen].n > int64(len(k.keys)) {
		return resp.None, false
	}
	d := k.decisionOf(n)
	k.decide(&d, int(n[decisionLen].n)-1)
	return resp.Array(append(c.Values(6), n[decisionLen].value(), n[0].value(), n[1].value(), n[2].value(),
		n[3].value(), n[4].value())...), true
}

func countReply(_ *commands.Ctx, _ *Call, n []item) (resp.Value, bool) {
	if len(n) != 1 || !known(n) {
		return resp.None, false
	}
	return n[0].value(), true
}

func reserveReply(c *commands.Ctx, k *Call, n []item) (resp.Value, bool) {
	if len(n) != 5 && len(n) != decisionLen || !known(n) {
		return resp.None, false
	}
	if len(n) == decisionLen { // otherwise it repeats an earlier reply
		d := k.decisionOf(n)
		k.decide(&d, 0)
	}
	return values(c, n[:5]), true
}

// settled returns the units that count, the excess and the units released, nil if there
// is no hold.
func settled(n []item) ([]item, bool) {
	switch {
	case len(n) == 0:
		return nil, true
	case len(n) != 4 || !known(n):
		return nil, false
	}
	return n[1:], true
}

func settleReply(c *commands.Ctx, _ *Call, n []item) (resp.Value, bool) {
	n, ok := settled(n)
	if n == nil {
		return resp.Int(0), ok
	}
	return values(c, n[:2]), ok
}

func cancelReply(_ *commands.Ctx, _ *Call, n []item) (resp.Value, bool) {
	n, ok := settled(n)
	if n == nil {
		return resp.Int(0), ok
	}
	return n[2].value(), ok
}

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
