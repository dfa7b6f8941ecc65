package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of LEAKY is a string: "leaky " and the unix microsecond at which the bucket is empty.
var leakyAlgorithm = algorithm{
	name: "LEAKY", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, ok := parseLeaky(n)
		return ok
	},
	allow: allowLeaky,
	validate: func(_ *commands.Ctx, a *allowCall) error {
		if err := limiter.ValidateQuota(a.quotas[0], a.Call); err != nil {
			return err
		}
		return limiter.ValidateBurst(a.quotas[0], a.quotas[0].Limit)
	},
	newState: func(*allowCall) limiter.State { return &limiter.Leaky{} },
	functionArgs: func(l *LimitCall) []int64 {
		q := l.Quotas[0]
		return []int64{q.Interval(), q.Limit}
	},
	subject: func(_ *commands.Ctx, _ *allowCall, n *store.Node) (limiter.Subject, int64, resp.Value) {
		state, expireAtMs, refusal := leakyOf(n)
		return &state, expireAtMs, refusal
	},
	unknown:  "instants of hits: a LEAKY key holds one instant, at which the bucket is empty",
	moreInfo: []string{"empty_us"},
	info: func(_ *commands.Ctx, n *store.Node) keyInfo {
		state, _ := parseLeaky(n)
		i := emptyInfo()
		i.more[0] = state.EmptyUs
		return i
	},
}

var leakyPrefix = []byte("leaky ")

func parseLeaky(n *store.Node) (s limiter.Leaky, ok bool) {
	var digits [20]byte
	text, ok := bytes.CutPrefix(store.StringOf(n).Bytes(digits[:]), leakyPrefix)
	if !ok {
		return s, false
	}
	s.EmptyUs, ok = store.ParseInt(text)
	return s, ok
}

// leakyOf returns the state of LEAKY in a key; n is nil if it does not exist.
func leakyOf(n *store.Node) (state limiter.Leaky, expireAtMs int64, refusal resp.Value) {
	if n == nil {
		return state, 0, resp.None
	}
	ok := isString(n)
	if ok {
		state, ok = parseLeaky(n)
	}
	if !ok {
		return state, 0, errOtherState
	}
	expireAtMs, _ = n.Value.ExpireAtMs()
	return state, expireAtMs, resp.None
}

func allowLeaky(c *commands.Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	name := c.Args[1]
	n := c.DB.Find(name, c.NowMs)
	state, expireAtMs, refusal := leakyOf(n)
	if refusal.IsError() {
		return d, refusal
	}
	d = state.Decide(c.NowMs, expireAtMs, a.quotas[0], a.Call)
	if d.Units == 0 {
		return d, resp.None
	}
	if n == nil {
		if refusal = reserve(c, name); refusal.IsError() {
			return d, refusal
		}
	}
	state.Apply(c.NowMs, &d)
	var buf [32]byte
	text := strconv.AppendInt(append(buf[:0], leakyPrefix...), state.EmptyUs, 10)
	if n == nil {
		n = c.DB.Put(name, store.NewString(text))
	} else {
		store.StringOf(n).SetBytes(text)
	}
	c.DB.ExpireAt(n, d.ExpireAtMs)
	c.DB.Touch(n)
	c.DidSet(name, text, d.ExpireAtMs)
	return d, resp.None
}
