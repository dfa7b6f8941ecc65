package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of GCRA is a string: "gcra " and the theoretical arrival time in unix
// microseconds.
var gcraAlgorithm = algorithm{
	name: "GCRA", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, ok := parseGCRA(n)
		return ok
	},
	allow: allowGCRA,
	validate: func(_ *commands.Ctx, a *allowCall) error {
		if err := limiter.ValidateQuota(a.quotas[0], a.Call); err != nil {
			return err
		}
		return limiter.ValidateBurst(a.quotas[0], a.param)
	},
	newState: func(a *allowCall) limiter.State { return &limiter.GCRA{Burst: a.param} },
	param:    &algoParam{"burst", errBurstMissing, errBurstNumber, true},
	subject: func(c *commands.Ctx, a *allowCall, n *store.Node) (limiter.Subject, int64, resp.Value) {
		state, expireAtMs, refusal := gcraOf(n)
		state.Burst = a.param
		if a.seen&optAlgo == 0 { // the state does not record it
			state.Burst = a.quotas[0].Limit
			if err := limiter.ValidateBurst(a.quotas[0], state.Burst); err != nil {
				return nil, 0, rlError(err)
			}
		}
		return &state, expireAtMs, refusal
	},
	functionArgs: func(l *LimitCall) []int64 {
		q := l.Quotas[0]
		return []int64{q.Interval(), q.Capacity(l.Param)}
	},
	explainMore: func(s limiter.Subject) []resp.Value {
		return []resp.Value{resp.Bulk("burst"), resp.Int(s.(*limiter.GCRA).Burst)}
	},
	unknown:       "instants of hits: a GCRA key holds one instant, at which the burst is full again",
	otherCommands: []string{"cl.throttle"},
	refund:        func(*commands.Ctx, *store.Node, int64) resp.Value { return errRefundGCRA },
	moreInfo:      []string{"tat_us"},
	info: func(_ *commands.Ctx, n *store.Node) keyInfo {
		state, _ := parseGCRA(n)
		i := emptyInfo()
		i.more[0] = state.TatUs
		return i
	},
}

var gcraPrefix = []byte("gcra ")

func parseGCRA(n *store.Node) (g limiter.GCRA, ok bool) {
	var digits [20]byte
	text, ok := bytes.CutPrefix(store.StringOf(n).Bytes(digits[:]), gcraPrefix)
	if !ok {
		return g, false
	}
	g.TatUs, ok = store.ParseInt(text)
	return g, ok
}

// setGCRA stores the state of GCRA in a key; n is nil if it does not exist.
func setGCRA(c *commands.Ctx, name []byte, n *store.Node, g *limiter.GCRA, expireAtMs int64) {
	var buf [32]byte
	text := strconv.AppendInt(append(buf[:0], gcraPrefix...), g.TatUs, 10)
	if n == nil {
		n = c.DB.Put(name, store.NewString(text))
	} else {
		store.StringOf(n).SetBytes(text)
	}
	c.DB.ExpireAt(n, expireAtMs)
	c.DB.Touch(n)
	c.DidSet(name, text, expireAtMs)
}

// findGCRA looks up the state of GCRA in a key; n is nil if it does not exist.
func findGCRA(c *commands.Ctx, name []byte) (
	n *store.Node, state limiter.GCRA, expireAtMs int64, refusal resp.Value,
) {
	n = c.DB.Find(name, c.NowMs)
	state, expireAtMs, refusal = gcraOf(n)
	return n, state, expireAtMs, refusal
}

// gcraOf returns the state of GCRA in a key; n is nil if it does not exist.
func gcraOf(n *store.Node) (state limiter.GCRA, expireAtMs int64, refusal resp.Value) {
	if n == nil {
		return state, 0, resp.None
	}
	ok := isString(n)
	if ok {
		state, ok = parseGCRA(n)
	}
	if !ok {
		return state, 0, errOtherState
	}
	expireAtMs, _ = n.Value.ExpireAtMs()
	return state, expireAtMs, resp.None
}

func allowGCRA(c *commands.Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n, state, expireAtMs, refusal := findGCRA(c, c.Args[1])
	if refusal.IsError() {
		return d, refusal
	}
	state.Burst = a.param
	d = state.Decide(c.NowMs, expireAtMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		if n == nil {
			if refusal = reserve(c, c.Args[1]); refusal.IsError() {
				return d, refusal
			}
		}
		state.Apply(c.NowMs, &d)
		setGCRA(c, c.Args[1], n, &state, d.ExpireAtMs)
	}
	return d, resp.None
}
