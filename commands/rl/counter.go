package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of COUNTER is a string,
//
//	counter <window ms> <start of the newest slice, unix ms> <units in it> <units in the previous slice>
//
// that expires when neither slice counts any more.
var counterAlgorithm = algorithm{
	name: "COUNTER", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, ok := parseCounter(n)
		return ok
	},
	allow: allowCounter,
	newState: func(a *allowCall) limiter.State {
		return &limiter.Counter{WindowMs: a.quotas[0].WindowMs}
	},
	functionArgs: limitAndWindow,
	validate:     validateQuota,
	subject: func(c *commands.Ctx, a *allowCall, n *store.Node) (limiter.Subject, int64, resp.Value) {
		state, expireAtMs, refusal := counterOf(n, a.quotas[0])
		return &state, expireAtMs, refusal
	},
	unknown:  "instants of hits: a COUNTER key holds the counts of two slices of time",
	refund:   refundCounter,
	moreInfo: []string{"window_ms"},
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		state, _ := parseCounter(n)
		expireAtMs, _ := n.Value.ExpireAtMs()
		return keyInfo{
			used:   resp.Int(state.Used(c.NowMs, expireAtMs)),
			oldest: resp.Int(state.Oldest()), newest: resp.Int(state.Newest()),
			more: [2]int64{state.WindowMs},
		}
	},
	units: func(_ *commands.Ctx, n *store.Node) int64 {
		state, _ := parseCounter(n)
		return state.Held()
	},
}

var counterPrefix = []byte("counter ")

func parseCounter(n *store.Node) (s limiter.Counter, ok bool) {
	var digits [20]byte
	rest, ok := bytes.CutPrefix(store.StringOf(n).Bytes(digits[:]), counterPrefix)
	if !ok {
		return s, false
	}
	for i, to := range [...]*int64{&s.WindowMs, &s.BeginMs, &s.Count, &s.Previous} {
		var text []byte
		var more bool
		if text, rest, more = bytes.Cut(rest, space); more != (i < 3) {
			return s, false
		}
		if *to, ok = store.ParseInt(text); !ok {
			return s, false
		}
	}
	return s, s.Valid()
}

// setCounter stores the state of COUNTER in a key; n is nil if it does not exist.
func setCounter(c *commands.Ctx, name []byte, n *store.Node, s *limiter.Counter, expireAtMs, oldMs int64) {
	var buf [96]byte
	text := append(buf[:0], counterPrefix...)
	for i, number := range [...]int64{s.WindowMs, s.BeginMs, s.Count, s.Previous} {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, number, 10)
	}
	if n == nil {
		n = c.DB.Put(name, store.NewString(text))
	} else {
		store.StringOf(n).SetBytes(text)
	}
	if expireAtMs > 0 {
		c.DB.ExpireAt(n, expireAtMs)
	}
	c.DB.Touch(n)
	c.DidValueAt(name, text, expireAtMs, oldMs)
}

// counterOf returns the state of COUNTER in a key; n is nil if it does not exist. The key
// must have the quota's window.
func counterOf(n *store.Node, q limiter.Quota) (
	state limiter.Counter, expireAtMs int64, refusal resp.Value,
) {
	state.WindowMs = q.WindowMs
	if n == nil {
		return state, 0, resp.None
	}
	ok := isString(n)
	if ok {
		state, ok = parseCounter(n)
	}
	switch {
	case !ok:
		return state, 0, errOtherState
	case state.WindowMs != q.WindowMs:
		return state, 0, CounterReply(state.WindowMs, q.WindowMs)
	}
	expireAtMs, _ = n.Value.ExpireAtMs()
	return state, expireAtMs, resp.None
}

func allowCounter(c *commands.Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n := c.DB.Find(c.Args[1], c.NowMs)
	state, expireAtMs, refusal := counterOf(n, a.quotas[0])
	if refusal.IsError() {
		return d, refusal
	}
	d = state.Decide(c.NowMs, expireAtMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		if n == nil {
			if refusal = reserve(c, c.Args[1]); refusal.IsError() {
				return d, refusal
			}
		}
		state.Apply(c.NowMs, &d)
		setCounter(c, c.Args[1], n, &state, d.ExpireAtMs, expireAtMs)
	}
	return d, resp.None
}

func refundCounter(c *commands.Ctx, n *store.Node, count int64) resp.Value {
	state, _ := parseCounter(n)
	expireAtMs, _ := n.Value.ExpireAtMs()
	removed := state.Refund(c.NowMs, count)
	switch {
	case removed == 0:
	case state.Held() == 0:
		c.DB.Delete(n)
		c.DidCall("DEL", c.Args[1])
	default:
		setCounter(c, c.Args[1], n, &state, expireAtMs, expireAtMs)
	}
	return resp.Int(removed)
}
