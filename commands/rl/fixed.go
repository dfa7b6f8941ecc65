package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of FIXED is a string, the number of units, that expires at the end of
// the window.
var fixedAlgorithm = algorithm{
	name: "FIXED", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, _, ok := parseFixed(n)
		return ok
	},
	allow:        allowFixed,
	newState:     func(*allowCall) limiter.State { return &limiter.Fixed{} },
	functionArgs: limitAndWindow,
	validate:     validateQuota,
	subject: func(c *commands.Ctx, _ *allowCall, n *store.Node) (limiter.Subject, int64, resp.Value) {
		state, endMs, refusal := fixedOf(n)
		return &state, endMs, refusal
	},
	unknown: "instants of hits: a FIXED key holds one count, which ends with its slice of time",
	refund:  refundFixed,
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		state, endMs, _ := parseFixed(n)
		i := emptyInfo()
		i.used = resp.Int(state.Used(c.NowMs, endMs))
		return i
	},
	units: func(_ *commands.Ctx, n *store.Node) int64 {
		state, _, _ := parseFixed(n)
		return state.Count
	},
}

func isString(n *store.Node) bool { return store.StringOf(n) != nil }

// parseFixed parses a string as the state of FIXED. endMs is the end of its window.
func parseFixed(n *store.Node) (f limiter.Fixed, endMs int64, ok bool) {
	s := store.StringOf(n)
	if f.Count, ok = s.Int(); !ok {
		f.Count, ok = store.ParseInt(s.Bytes(nil))
	}
	endMs, expires := n.Value.ExpireAtMs()
	return f, endMs, ok && expires && f.Count >= 0
}

// fixedOf returns the state of FIXED in a key; n is nil if it does not exist.
func fixedOf(n *store.Node) (state limiter.Fixed, endMs int64, refusal resp.Value) {
	if n == nil {
		return state, 0, resp.None
	}
	ok := isString(n)
	if ok {
		state, endMs, ok = parseFixed(n)
	}
	if !ok {
		return state, 0, errOtherState
	}
	return state, endMs, resp.None
}

func allowFixed(c *commands.Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n := c.DB.Find(c.Args[1], c.NowMs)
	state, endMs, refusal := fixedOf(n)
	if refusal.IsError() {
		return d, refusal
	}
	d = state.Decide(c.NowMs, endMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		if n == nil {
			if refusal = reserve(c, c.Args[1]); refusal.IsError() {
				return d, refusal
			}
		}
		state.Apply(c.NowMs, &d)
		if n == nil {
			n = c.DB.Put(c.Args[1], store.NewInt(state.Count))
		} else {
			store.StringOf(n).SetInt(state.Count)
		}
		c.DB.ExpireAt(n, d.ExpireAtMs)
		c.DB.Touch(n)
		didCount(c, c.Args[1], state.Count, d.ExpireAtMs, endMs)
	}
	return d, resp.None
}

func refundFixed(c *commands.Ctx, n *store.Node, count int64) resp.Value {
	state, endMs, _ := parseFixed(n)
	if c.NowMs >= endMs {
		return resp.Int(0)
	}
	count = min(count, state.Count)
	switch count {
	case 0:
	case state.Count:
		c.DB.Delete(n)
		c.DidCall("DEL", c.Args[1])
	default:
		store.StringOf(n).SetInt(state.Count - count)
		c.DB.Touch(n)
		didCount(c, c.Args[1], state.Count-count, endMs, endMs)
	}
	return resp.Int(count)
}
